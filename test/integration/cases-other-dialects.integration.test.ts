import { gzipSync } from "node:zlib";
import { expect, it } from "vitest";
import {
  CH,
  cutAt,
  data,
  DONE,
  drip,
  encoded,
  EOF,
  eventually,
  FLUSH,
  HEALTHY,
  json,
  OK,
  ROLE,
  SILENT,
  sse,
  until,
  USAGE,
} from "@switchyard/testkit";
import type { Step } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { event, ONE as RESPONSES, pending, response, streamed } from "../support/responses.ts";
import { anthropicSays, FAMILIES, geminiSays, SAYS } from "../support/translation-cases.ts";

const MESSAGES = "/v1/messages";
const RESPONSES_PATH = "/v1/responses";
const TEXT = "你好 🌍";

/** Asks in Anthropic's dialect for a stream. */
async function messagesStream(scene: Scene, fields: object = {}): Promise<{ status: number; text: string }> {
  const got = await scene.send({ max_tokens: 9, stream: true, ...fields }, { path: MESSAGES });
  return { status: got.status, text: await got.text() };
}

/** The data of a stream's events, parsed; a `[DONE]` is left out. */
function parsed(text: string): readonly Told[] {
  return [...text.matchAll(/^data: ?(\{.*\})\r?$/gmu)].map(([, one]) => JSON.parse(one ?? "") as Told);
}

interface Told {
  readonly type?: string;
  readonly delta?: { readonly text?: string } | string;
  readonly usage?: Readonly<Record<string, number>>;
}

function textOf(text: string): string {
  return parsed(text)
    .map(({ type, delta }) => {
      if (type === "response.output_text.delta") return delta as string;
      return type === "content_block_delta" ? ((delta as { text?: string }).text ?? "") : "";
    })
    .join("");
}

/** Tokens of a kind that the scene's key was counted, over all processes. */
async function counted(scene: Scene, kind: string): Promise<number> {
  let sum = 0;
  for (const ops of scene.gateway.ops) {
    const text = await (await fetch(`${ops}/metrics`)).text();
    for (const line of text.split("\n")) {
      if (!line.startsWith("switchyard_tokens_total{") || !line.includes(scene.group)) continue;
      if (!line.includes(`kind="${kind}"`)) continue;
      expect(line).not.toContain('key=""');
      sum += Number(line.slice(line.lastIndexOf(" ")));
    }
  }
  return sum;
}

const WAITING = ": OPENROUTER PROCESSING\n\n";
const OPENROUTER: SceneSpec = { providers: { A: { family: "openrouter" } } };
const PRICED = { A: { price: { input: 1, output: 1 } } };

/** Cut inside each character that has more than one byte, and then byte by byte. */
function cut(stream: string): readonly Step[] {
  const bytes = Buffer.from(stream);
  const inside = [...bytes.keys()].filter((place) => ((bytes[place] ?? 0) & 0xc0) === 0x80);
  return [...cutAt(stream, inside), EOF];
}

forEachForm("reported faults in the other dialects", {}, (stage) => {
  it.concurrent("BH-07: an answer without a choice is none to a messages caller either", async () => {
    await using scene = await stage.scene({ policy: { bench: { failures: 0 } } });
    const empty = json(200, { id: "c1", object: "chat.completion", model: "m", choices: [], usage: {} });
    scene.A.answer(({ body }) => (body.includes('"stream":true') ? sse([DONE]) : empty));
    scene.B.answer(({ body }) => (body.includes('"stream":true') ? HEALTHY("real") : OK("real")));
    const whole = await scene.ask({ max_tokens: 9 }, { path: MESSAGES });
    expect(whole.json()).toMatchObject({ type: "message", content: [{ type: "text", text: "real" }] });
    expect(textOf((await messagesStream(scene)).text)).toBe("real");
    const told = await scene.send(
      { messages: undefined, input: "x", stream: true },
      { path: RESPONSES_PATH },
    );
    expect(textOf(await told.text())).toBe("real");
    expect(scene.counts).toEqual({ A: 3, B: 3 });
  });

  const spoken = [
    CH({ role: "assistant", content: "H" }, null),
    FLUSH,
    ":\n\n",
    FLUSH,
    ': data: {"not":"data"}\n',
    CH({ content: "i" }, null),
    FLUSH,
    CH({}, "stop"),
    DONE,
  ] as const;
  const [before = "", after = ""] = anthropicSays("Hi").split(/(?=event: content_block_stop)/u);

  it.concurrent.for([
    ["chat", {}, spoken],
    // OpenRouter has Anthropic's API, too.
    ["messages", OPENROUTER, [before, FLUSH, ":\n\n", FLUSH, ': data: {"not":"data"}\n', after, EOF]],
  ] as const)(
    "BH-12: comments of %s are neither data nor tokens to a messages caller",
    async ([, spec, says]) => {
      await using scene = await stage.scene(spec);
      scene.A.answer(sse([WAITING, FLUSH, WAITING, FLUSH, ...says]));
      const { status, text } = await messagesStream(scene);
      expect([status, textOf(text)]).toEqual([200, "Hi"]);
      for (const line of text.split("\n").filter((one) => one.startsWith("data:"))) {
        expect(line).not.toContain('"not"');
        expect(JSON.parse(line.slice(5))).toHaveProperty("type");
      }
      expect(parsed(text).at(-1)).toEqual({ type: "message_stop" });
      expect(scene.counts).toEqual({ A: 1, B: 0 });
    },
  );

  it.concurrent.for([{}, OPENROUTER])(
    "BH-12: an error after comments fails over for a messages caller (E6), %o",
    async (spec) => {
      await using scene = await stage.scene(spec);
      const busy = data({ error: { message: "upstream busy", code: 502 } });
      scene.A.answer(sse([WAITING, FLUSH, WAITING, FLUSH, busy, EOF]));
      scene.B.answer(HEALTHY("from b"));
      const { text } = await messagesStream(scene);
      expect(textOf(text)).toBe("from b");
      expect(text).not.toContain("error");
      expect(scene.counts).toEqual({ A: 1, B: 1 });
    },
  );

  const chatSays = CH({ content: TEXT }, null) + CH({}, "stop") + USAGE(1, 2) + DONE;
  const cuts = [
    ["chat", "messages", FAMILIES.oai, chatSays, MESSAGES],
    ["chat", "responses", FAMILIES.oai, chatSays, RESPONSES_PATH],
    ["Anthropic", "messages", FAMILIES.anth, anthropicSays(TEXT), MESSAGES],
    ["Anthropic", "responses", FAMILIES.anth, anthropicSays(TEXT), RESPONSES_PATH],
    ["Gemini", "messages", FAMILIES.gemini, geminiSays(TEXT), MESSAGES],
    ["Gemini", "responses", FAMILIES.gemini, geminiSays(TEXT), RESPONSES_PATH],
    ["Responses", "responses", RESPONSES, streamed("resp_1", TEXT), RESPONSES_PATH],
  ] as const;

  it.concurrent.for(cuts)(
    "BH-13: characters that chunks of %s cut are whole to a caller of %s",
    async ([, , spec, says, path]) => {
      await using scene = await stage.scene(spec);
      const fields = path === MESSAGES ? { max_tokens: 9 } : { messages: undefined, input: "hi" };
      for (const steps of [cut(says), [...drip(says, 0), EOF]]) {
        scene.A.answer(sse(steps));
        const got = await scene.send({ stream: true, ...fields }, { path });
        const bytes = Buffer.from(await got.arrayBuffer());
        expect(textOf(bytes.toString())).toBe(TEXT);
        expect(bytes.includes(Buffer.from([0xef, 0xbf, 0xbd]))).toBe(false);
      }
    },
  );

  it.concurrent("BH-14: each event of a Responses stream comes with its blank line, and its usage is counted by key", async () => {
    await using scene = await stage.scene({ ...RESPONSES, deployments: PRICED });
    const first = `event: response.created\r\ndata:${JSON.stringify({
      type: "response.created",
      sequence_number: 0,
      response: pending("resp_1"),
    })}\r\n\r`;
    const usage = { input_tokens: 11, output_tokens: 19, total_tokens: 30 };
    const second = `\nevent: response.completed\r\ndata:${JSON.stringify({
      type: "response.completed",
      sequence_number: 1,
      response: response("resp_1", "hi", { model: "m-2026", usage }),
    })}\r\n\r\n`;
    const delta = event("response.output_text.delta", { sequence_number: 1, delta: "hi" });
    const seen = Promise.withResolvers<void>();
    scene.A.answer(sse([first, FLUSH, `\n${delta}`, until(seen.promise), second.slice(1), EOF]));
    const got = await scene.send(
      { messages: undefined, input: "hi", stream: true },
      { path: RESPONSES_PATH },
    );
    let all = "";
    const decoder = new TextDecoder();
    for await (const bytes of got.body ?? []) {
      all += decoder.decode(bytes, { stream: true });
      // The end is sent only once the events before it have come through.
      if (all.includes("output_text.delta")) seen.resolve();
    }
    expect(parsed(all).map(({ type }) => type)).toEqual([
      "response.created",
      "response.output_text.delta",
      "response.completed",
    ]);
    expect(all).toContain('"model":"m-2026"');
    await eventually(async () =>
      expect([await counted(scene, "input"), await counted(scene, "output")]).toEqual([11, 19]),
    );
  });

  const usage = '"usage":{"prompt_tokens":4,"completion_tokens":1,"total_tokens":5}';
  const last = (choices: string): string =>
    data(`{"id":"c1","object":"chat.completion.chunk","created":1,"model":"u",${choices}${usage}}`);

  it.concurrent.for([
    ["an empty list", last('"choices":[],')],
    ["null", last('"choices":null,')],
    ["missing", last("")],
  ])("BH-15: a usage chunk whose choices are %s is told once and counted once", async ([, chunk]) => {
    await using scene = await stage.scene({ order: ["A"], deployments: PRICED });
    scene.A.answer(
      sse([ROLE, FLUSH, CH({ content: "ok" }), FLUSH, CH({}, "stop"), FLUSH, chunk ?? "", FLUSH, DONE]),
    );
    const { text } = await messagesStream(scene);
    expect(textOf(text)).toBe("ok");
    const deltas = parsed(text).filter(({ type }) => type === "message_delta");
    expect(deltas.map((one) => one.usage?.["output_tokens"])).toEqual([1]);
    await scene.stream({ stream_options: { include_usage: true } });
    await eventually(async () =>
      expect([await counted(scene, "input"), await counted(scene, "output")]).toEqual([8, 2]),
    );
  });

  it.concurrent("BH-16: a cut stream is logged as failed, and counts against who served it", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, FLUSH, CH({ content: "Half an ans" }), FLUSH, EOF]));
    await scene.stream();
    await eventually(() => {
      const lines = scene.gateway.logs().split("\n");
      const own = lines.filter((line) => line.includes('"request"') && line.includes(`"${scene.group}"`));
      expect(own.some((line) => /"error":"(?:stream_error|upstream_\w+)"/u.test(line))).toBe(true);
    });
  });

  it.concurrent("BH-18: with least_busy a caller that leaves counts no more, in any dialect", async () => {
    await using scene = await stage.scene({
      pool: ["A", "B"],
      policy: { strategy: "least_busy", retry: { max_retries: 2 } },
    });
    for (const one of [scene.A, scene.B]) one.answer(SILENT);
    const bodies = [
      ["/v1/chat/completions", {}],
      [MESSAGES, { max_tokens: 9 }],
      [RESPONSES_PATH, { messages: undefined, input: "hi" }],
    ] as const;
    const leaving = new AbortController();
    const asked = bodies.map(([path, body]) =>
      expect(scene.send(body, { path, signal: leaving.signal })).rejects.toThrow("aborted"),
    );
    await eventually(() => expect(scene.A.calls.length + scene.B.calls.length).toBe(3));
    leaving.abort();
    await Promise.all(asked);
    await eventually(() => {
      for (const call of [...scene.A.calls, ...scene.B.calls]) expect(call.abandoned).toBe(true);
    });
    await eventually(async () => expect(await scene.inFlight()).toBe(0));
    for (const one of [scene.A, scene.B]) one.answer(OK("x"));
    for (let count = 0; count < 10; count += 1) expect((await scene.ask()).status).toBe(200);
    expect(scene.A.calls.length + scene.B.calls.length).toBe(13);
    for (const one of [scene.A, scene.B]) expect(one.calls.length).toBeGreaterThanOrEqual(4);
  });

  it.concurrent("BH-38: Anthropic's coded answers come out plain to its own callers", async () => {
    await using scene = await stage.scene({ ...FAMILIES.anth, policy: { bench: { failures: 0 } } });
    const error = { type: "error", error: { type: "not_found_error", message: "model: nope" } };
    for (const accept of ["gzip, br", "identity"]) {
      const options = { path: MESSAGES, headers: { "accept-encoding": accept } };
      scene.A.answer(encoded("gzip", json(404, error)));
      const missing = await scene.ask({ max_tokens: 9 }, options);
      expect(missing.status).toBe(404);
      expect(missing.json()).toMatchObject(error);
      expect(missing.headers.get("content-encoding")).toBeNull();
      scene.A.answer(encoded("br", SAYS.anth));
      expect((await scene.ask({ max_tokens: 9 }, options)).json()).toMatchObject({
        content: [{ text: "ok" }],
      });
      scene.A.answer(encoded("gzip", sse([anthropicSays("hi"), EOF])));
      expect(textOf((await messagesStream(scene)).text)).toBe("hi");
    }
    scene.A.answer({ ...json(200, {}, { "Content-Encoding": "gzip" }), steps: [gzipSync("")] });
    expect((await scene.ask({ max_tokens: 9 }, { path: MESSAGES })).status).toBe(502);
  });
});
