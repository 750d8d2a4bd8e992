import { expect, it } from "vitest";
import { CH, data, DONE, embeddings, EOF, failure, G, json, sse, until, USAGE } from "@switchyard/testkit";
import type { Step } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene } from "../support/gateway-scene.ts";
import { anthropicSays, bodyOf, FAMILIES, geminiSays, SAYS } from "../support/translation-cases.ts";

const MESSAGES = "/v1/messages";
const EMBEDDINGS = "/v1/embeddings";
/** Embeddings may go to any family; the vector of another model does not matter here. */
const ANYWHERE = { skip_embeddings_families: [] };

const piece = (text: string, more: object = {}): string =>
  G({ candidates: [{ index: 0, content: { role: "model", parts: [{ text }] }, ...more }] });

/** Pieces of a stream, each sent only when the one before it has come out at the caller. */
function gated(pieces: readonly string[]): { readonly steps: readonly Step[]; readonly heard: () => void } {
  const gates = pieces.map(() => Promise.withResolvers<void>());
  let count = 0;
  return {
    steps: pieces.flatMap((each, place) => [
      ...(place === 0 ? [] : [until((gates[place - 1] as PromiseWithResolvers<void>).promise)]),
      each,
    ]),
    heard: () => gates[count++]?.resolve(),
  };
}

/** Reads a stream and reports each text of it as it comes. */
async function readTexts(response: Response, onText: (text: string) => void): Promise<string> {
  const decoder = new TextDecoder();
  let all = "";
  let seen = 0;
  for await (const bytes of response.body as ReadableStream<Uint8Array>) {
    all += decoder.decode(bytes, { stream: true });
    const texts = [...all.matchAll(/"content":"([^"]+)"/gu)].map(([, text]) => text ?? "");
    for (const text of texts.slice(seen)) onText(text);
    seen = texts.length;
  }
  return all;
}

forEachForm("reported faults of translated answers", {}, (stage) => {
  it.concurrent.for([
    ["gemini", FAMILIES.gemini, [piece("one"), piece("two"), piece("three", { finishReason: "STOP" })]],
    [
      "chat with CRLF and no space",
      FAMILIES.oai,
      [
        CH({ content: "one" }),
        CH({ content: "two" }),
        CH({ content: "three" }),
        CH({}, "stop") + USAGE() + DONE,
      ].map((text) => text.replaceAll("\n", "\r\n").replaceAll("data: ", "data:")),
    ],
  ] as const)("BH-14: %s: deltas come one by one", async ([, spec, pieces]) => {
    await using scene = await stage.scene(spec);
    const { steps, heard } = gated(pieces);
    scene.A.answer(sse([...steps, EOF]));
    const texts: string[] = [];
    const all = await readTexts(
      await scene.send({ stream: true, stream_options: { include_usage: true } }),
      (text) => {
        texts.push(text);
        heard();
      },
    );
    expect(texts).toEqual(["one", "two", "three"]);
    expect(all).toMatch(/\[DONE\]\s*$/u);
  });

  it.concurrent("BH-14: usage is read out of CRLF and data: without a space, and told in the caller's dialect", async () => {
    await using scene = await stage.scene(FAMILIES.oai);
    const text = CH({ content: "hi" }) + CH({}, "stop") + USAGE(11, 19) + DONE;
    scene.A.answer(sse([text.replaceAll("\n", "\r\n").replaceAll("data: ", "data:"), EOF]));
    const got = await scene.send({ stream: true, max_tokens: 9 }, { path: MESSAGES });
    expect(await got.text()).toMatch(/"usage":\{"input_tokens":11,[^}]*"output_tokens":19/u);
  });

  it.concurrent("BH-25: breakpoints become cache points, and what caches gave is told", async () => {
    await using scene = await stage.scene(FAMILIES.bedrock);
    scene.A.answer(
      json(200, {
        output: { message: { role: "assistant", content: [{ text: "ok" }] } },
        stopReason: "end_turn",
        usage: {
          inputTokens: 3,
          outputTokens: 2,
          totalTokens: 905,
          cacheReadInputTokens: 900,
          cacheWriteInputTokens: 0,
        },
      }),
    );
    const cached = { cache_control: { type: "ephemeral" } };
    const body = {
      max_tokens: 9,
      system: [{ type: "text", text: "S1", ...cached }],
      tools: [{ name: "f", input_schema: { type: "object" }, ...cached }],
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "U1", ...cached },
            { type: "text", text: "U2" },
          ],
        },
      ],
    };
    const got = await scene.send(body, { path: MESSAGES });
    expect(await got.json()).toMatchObject({ usage: { input_tokens: 3, cache_read_input_tokens: 900 } });
    const point = { cachePoint: { type: "default" } };
    expect(bodyOf(scene)).toMatchObject({
      system: [{ text: "S1" }, point],
      toolConfig: { tools: [{ toolSpec: { name: "f" } }, point] },
      messages: [{ role: "user", content: [{ text: "U1" }, point, { text: "U2" }] }],
    });
    expect(scene.A.calls[0]?.body.toString()).not.toContain("cache_control");
    await using anth = await stage.scene(FAMILIES.anth);
    anth.A.answer(SAYS.anth);
    const long = {
      ...body,
      system: [{ type: "text", text: "S1", cache_control: { type: "ephemeral", ttl: "1h" } }],
    };
    for (const asked of [long, long]) await anth.ask(asked, { path: MESSAGES });
    const [first, second] = anth.A.calls.map((call) => call.body.toString());
    expect(second).toBe(first);
    expect(first).toContain(JSON.stringify(long.system));
  });

  it.concurrent("BH-27: index, logprobs, refusal and unknown fields stay as they came, by choice", async () => {
    await using scene = await stage.scene(FAMILIES.oai);
    const chunk = (index: number, delta: object, finish_reason: string | null, more: object = {}): string =>
      data({
        id: "c1",
        object: "chat.completion.chunk",
        created: 1,
        model: "m",
        service_tier: "flex",
        system_fingerprint: "fp",
        new_field: [1],
        choices: [{ index, delta, finish_reason, ...more }],
      });
    const logprobs = {
      content: [{ token: "B", logprob: -0.25, bytes: [66], top_logprobs: [] }],
      refusal: null,
    };
    const sent =
      chunk(1, { role: "assistant", content: "B" }, null, { logprobs }) +
      chunk(0, { role: "assistant", content: "A" }, null) +
      chunk(1, { refusal: "cannot" }, null) +
      chunk(0, {}, "stop") +
      chunk(1, {}, "content_filter") +
      DONE;
    scene.A.answer(sse([sent]));
    const reply = await scene.stream({ n: 2, logprobs: true });
    expect(reply.bytes.toString("utf8")).toBe(sent);
  });

  it.concurrent("BH-27: Gemini's candidates are told apart, with their own calls", async () => {
    await using scene = await stage.scene(FAMILIES.gemini);
    const of = (index: number, part: object, more: object = {}): string =>
      G({ candidates: [{ index, content: { role: "model", parts: [part] }, ...more }] });
    scene.A.answer(
      sse([
        of(1, { functionCall: { name: "f", args: {} } }),
        of(0, { text: "A" }),
        of(0, { text: "" }, { finishReason: "STOP" }),
        of(1, { text: "" }, { finishReason: "STOP" }),
        EOF,
      ]),
    );
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object" } } }];
    const reply = await scene.stream({ n: 2, tools });
    expect(bodyOf(scene)).toMatchObject({ generationConfig: { candidateCount: 2 } });
    const choices = reply.events
      .filter(({ data: text }) => text.startsWith("{"))
      .flatMap(({ data: text }) => (JSON.parse(text) as { choices: Choice[] }).choices);
    interface Choice {
      readonly index: number;
      readonly delta: { readonly content?: string; readonly tool_calls?: readonly object[] };
      readonly finish_reason: string | null;
    }
    const own = (index: number): Choice[] => choices.filter((choice) => choice.index === index);
    expect(
      own(0)
        .map(({ delta }) => delta.content ?? "")
        .join(""),
    ).toBe("A");
    expect(own(0).some(({ delta }) => delta.tool_calls !== undefined)).toBe(false);
    expect(own(1).some(({ delta }) => delta.tool_calls !== undefined)).toBe(true);
    const finishes = (index: number): string[] => own(index).flatMap(({ finish_reason: why }) => why ?? []);
    expect([finishes(0), finishes(1)]).toEqual([["stop"], ["tool_calls"]]);
    expect(reply.done).toBe(true);
  });

  it.concurrent.for([false, true])(
    "BH-27: content_filter is a refusal to a messages caller, stream %s",
    async (stream) => {
      await using scene = await stage.scene(FAMILIES.oai);
      const choice = {
        index: 0,
        message: { role: "assistant", content: "no" },
        finish_reason: "content_filter",
      };
      scene.A.answer(
        stream
          ? sse([CH({ role: "assistant", content: "no" }), CH({}, "content_filter"), DONE])
          : json(200, { id: "c1", object: "chat.completion", choices: [choice] }),
      );
      const got = await scene.send({ stream, max_tokens: 9 }, { path: MESSAGES });
      const text = await got.text();
      expect(text).toContain('"stop_reason":"refusal"');
      expect(text).not.toContain("end_turn");
    },
  );

  it.concurrent("BH-29: vectors in the form asked for, whatever the provider speaks", async () => {
    const vectors = [
      [0.25, -1, 3.5],
      [0.5, 2, 0],
    ];
    const coded = ["AACAPgAAgL8AAGBA", "AAAAPwAAAEAAAAAA"];
    for (const family of ["gemini", "oai"] as const) {
      for (const base64 of family === "gemini" ? [false] : [false, true]) {
        await using scene = await stage.scene({ ...FAMILIES[family], policy: ANYWHERE });
        scene.A.answer(embeddings(vectors, { base64 }));
        for (const [encoding_format, wanted] of [
          ["base64", coded],
          ["float", vectors],
          [undefined, vectors],
        ] as const) {
          const asked = { messages: undefined, input: ["p", "q"], encoding_format };
          const got = (await scene.ask(asked, { path: EMBEDDINGS })).json() as {
            data: { index: number; embedding: unknown }[];
            usage: object;
          };
          expect(got.data.map(({ embedding }) => embedding)).toEqual(wanted);
          expect(got.data.map(({ index }) => index)).toEqual([0, 1]);
          expect(got.usage).toBeDefined();
        }
        if (family === "gemini") expect(bodyOf(scene)).not.toHaveProperty("encoding_format");
      }
    }
  });

  it.concurrent("BH-30: tokens go where they are understood, unchanged, else nowhere", async () => {
    await using scene = await stage.scene({ providers: { A: { family: "gemini" } }, policy: ANYWHERE });
    const ask = (input: unknown, where: Scene = scene): Promise<{ status: number; text: string }> =>
      where.ask({ messages: undefined, input }, { path: EMBEDDINGS });
    const lists = [
      [15_339, 1917],
      [
        [15_339, 1917],
        [40, 939],
      ],
    ];
    for (const input of lists) expect((await ask(input)).text).toContain("input");
    expect(scene.counts).toEqual({ A: 0, B: 0 });
    await using alone = await stage.scene({ ...FAMILIES.gemini, policy: ANYWHERE });
    for (const input of lists)
      expect(await ask(input, alone)).toMatchObject({
        status: 400,
        text: expect.stringContaining("input") as string,
      });
    expect(alone.counts).toEqual({ A: 0 });
    await using oai = await stage.scene(FAMILIES.oai);
    oai.A.answer(failure(400, { message: "bad input", type: "invalid_request_error", param: "input" }));
    for (const input of [[], ["a", [1]]]) {
      const reply = await ask(input, oai);
      expect(reply.status).toBe(400);
      expect(reply.text).toContain('"type":"invalid_request_error"');
    }
  });

  it.concurrent("BH-13: cut characters of Anthropic and Gemini, byte by byte", async () => {
    const text = "é 🌍 日本";
    for (const [family, stream] of [
      ["anth", anthropicSays(text)],
      ["gemini", geminiSays(text)],
    ] as const) {
      await using scene = await stage.scene(FAMILIES[family]);
      const bytes = Buffer.from(stream);
      scene.A.answer(
        sse([...[...bytes].flatMap((byte) => [Uint8Array.of(byte), { do: "flush" as const, ms: 0 }]), EOF]),
      );
      expect(await scene.stream()).toMatchObject({ status: 200, text, done: true });
    }
  });
});
