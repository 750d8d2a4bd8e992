import { generateKeyPairSync } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createScriptedProvider, EOF, FLUSH, json, OK, sse } from "@switchyard/testkit";
import type { Answer, ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, expect, it } from "vitest";
import { CANARIES } from "../support/gateway-scene.ts";
import type { SceneSpec } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const GEMINI = { family: "gemini" };
const MIXED: SceneSpec = { providers: { A: GEMINI }, policy: { skip_embeddings_families: [] } };
const ONE: SceneSpec = { ...MIXED, order: ["A"] };

const G = (body: object): string => `data: ${JSON.stringify(body)}\r\n\r\n`;
const part = (parts: object[], more: object = {}): object => ({
  candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
});
const STOP = { finishReason: "STOP" };
const SIGNED = [
  { functionCall: { name: "f", args: { i: 1 } }, thoughtSignature: "U0lHLUE=" },
  { functionCall: { name: "f", args: { i: 2 } } },
];
const streams = (path: string): boolean => path.includes(":streamGenerateContent?alt=sse");
const answerOf = (path: string, parts: object[]): Answer =>
  streams(path)
    ? sse([G(part(parts)), FLUSH, G(part([{ text: "" }], STOP)), EOF])
    : json(200, part(parts, STOP));

interface Call {
  readonly id: string;
  readonly type: string;
  readonly function: { readonly name: string; arguments: string };
}

/** The assistant's message, put together from chunks as clients do where it streams. */
function messageOf(text: string): { content: string | null; tool_calls?: Call[] } {
  if (!text.startsWith("data:")) {
    return (JSON.parse(text) as { choices: { message: { content: string; tool_calls?: Call[] } }[] })
      .choices[0]?.message as { content: string };
  }
  const calls: Call[] = [];
  let content = "";
  for (const line of text.split("\n").filter((each) => each.startsWith("data: {"))) {
    const { choices } = JSON.parse(line.slice(6)) as {
      choices: { delta: { content?: string; tool_calls?: (Call & { index: number })[] } }[];
    };
    content += choices[0]?.delta.content ?? "";
    for (const { index, ...delta } of choices[0]?.delta.tool_calls ?? []) {
      const call = calls[index];
      if (call === undefined) calls[index] = delta;
      else call.function.arguments += delta.function.arguments;
    }
  }
  return calls.length > 0 ? { content, tool_calls: calls } : { content };
}

forEachForm("gemini", {}, (stage) => {
  it.concurrent.for([false, true])(
    "P2, BH-22, BH-37: chat and messages callers are served, stream %s",
    async (stream) => {
      await using scene = await stage.scene(ONE);
      scene.A.answer(({ path }) => answerOf(path, [{ text: "hi" }]));
      const chat = await (await scene.send({ stream })).text();
      expect(messageOf(chat).content).toBe("hi");
      const own = await scene.send({ stream, max_tokens: 5 }, { path: "/v1/messages" });
      expect(await own.text()).toMatch(/"text":"hi"/u);
      const method = stream ? "streamGenerateContent?alt=sse" : "generateContent";
      for (const call of scene.A.calls) {
        expect(call.path).toBe(`/v1beta/models/m-A:${method}`);
        expect(call.header("x-goog-api-key")).toBe(CANARIES.A);
        expect(call.path).not.toContain(CANARIES.A);
      }
    },
  );

  it.concurrent.for([
    [false, true],
    [false, false],
    [true, true],
    [true, false],
  ] as const)("BH-26: signatures come back, stream %s, whole message %s", async ([stream, whole]) => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(({ path, body }) => {
      const contents = (
        JSON.parse(body.toString()) as { contents: { parts: { thoughtSignature?: string }[] }[] }
      ).contents;
      if (contents.length === 1) return answerOf(path, SIGNED);
      const [first, second] = contents[1]?.parts ?? [];
      const isGood = first?.thoughtSignature !== undefined && second?.thoughtSignature === undefined;
      return isGood
        ? answerOf(path, [{ text: "done" }])
        : json(400, { error: { code: 400, message: "missing thought_signature" } });
    });
    const hi = { role: "user", content: "go" };
    const { tool_calls: calls = [] } = messageOf(await (await scene.send({ stream, messages: [hi] })).text());
    const given = whole
      ? calls
      : calls.map((call) => ({
          id: call.id,
          type: call.type,
          function: { name: call.function.name, arguments: call.function.arguments },
        }));
    const results = calls.map(({ id }) => ({ role: "tool", tool_call_id: id, content: "r" }));
    const messages = [hi, { role: "assistant", content: null, tool_calls: given }, ...results];
    const second = await scene.send({ stream, messages });
    expect(second.status).toBe(200);
    expect(messageOf(await second.text()).content).toBe("done");
    expect(scene.A.calls[1]?.json()).toMatchObject({
      contents: [
        {},
        { parts: whole ? SIGNED : [{ thoughtSignature: "skip_thought_signature_validator" }, {}] },
        {},
      ],
    });
  });

  it.concurrent("BH-29, BH-30: embeddings come in the form asked for; tokens are refused unasked", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(
      json(200, {
        object: "list",
        data: [{ index: 0, embedding: [0.25, -1, 3.5] }],
        model: "e",
        usage: { prompt_tokens: 1, total_tokens: 1 },
      }),
    );
    const ask = (fields: object): Promise<Response> =>
      scene.send({ messages: undefined, ...fields }, { path: "/v1/embeddings" });
    const got = (await (await ask({ input: ["p"], encoding_format: "base64" })).json()) as object;
    expect(got).toMatchObject({ data: [{ embedding: "AACAPgAAgL8AAGBA" }] });
    expect(scene.A.calls[0]?.path).toBe("/v1beta/openai/embeddings");
    expect(scene.A.calls[0]?.json()).not.toHaveProperty("encoding_format");
    const refused = await ask({ input: [15_339, 1917] });
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { param: "input" } });
    expect(scene.counts).toEqual({ A: 1 });
  });

  it.concurrent("BH-16, P5: a stream that turns into an error says so; before its first token another serves", async () => {
    await using scene = await stage.scene(MIXED);
    scene.B.answer(OK("b"));
    const failure =
      '{\n "error": {\n  "code": 503,\n  "message": "The model is overloaded.",\n  "status": "UNAVAILABLE"\n }\n}\n';
    scene.A.answer(sse([G(part([{ text: "Half" }])), FLUSH, failure, EOF]));
    const text = await (await scene.send({ stream: true })).text();
    expect(text).toContain("Half");
    expect(text).toContain("The model is overloaded.");
    expect(text).not.toMatch(/DONE|"stop"/u);
    await using other = await stage.scene(MIXED);
    other.B.answer(OK("b"));
    other.A.answer(json(503, { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } }));
    expect((await other.ask({})).content).toBe("b");
    expect(other.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent.for([
    ["a 400 that repeats the URL", 400, {}],
    ["a 404", 404, {}],
    ["a redirect", 307, { location: `https://h.example/?key=${CANARIES.A}` }],
  ] as const)("BH-37: %s tells nobody the key", async ([, status, headers]) => {
    await using scene = await stage.scene(ONE);
    const message = `no such thing at /v1beta/models?key=${CANARIES.A}`;
    scene.A.answer(json(status, { error: { code: status, message, status: "NOT_FOUND" } }, headers));
    for (const stream of [false, true]) {
      const reply = await scene.send({ stream });
      const told = JSON.stringify([...reply.headers]) + (await reply.text());
      expect(told).not.toContain(CANARIES.A);
      if (status < 500 && status >= 400) expect(told).toContain("no such thing");
    }
  });

  it.concurrent("a blocked prompt is an answer that says so", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(json(200, { promptFeedback: { blockReason: "SAFETY", blockReasonMessage: "no" } }));
    expect((await scene.ask({})).json()).toMatchObject({
      choices: [{ finish_reason: "content_filter", message: { refusal: "no" } }],
    });
  });
});

forEachForm("vertex", {}, (stage) => {
  let tokens: ScriptedProvider;
  let folder = "";
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "switchyard-vertex-"));
    tokens = await createScriptedProvider();
    const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
    const credential = {
      type: "service_account",
      client_email: "robot@p.example",
      private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
      token_uri: `${tokens.url}/token`,
    };
    writeFileSync(join(folder, "account.json"), JSON.stringify(credential));
    writeFileSync(
      join(folder, "broken.json"),
      JSON.stringify({ ...credential, token_uri: `${tokens.url}/no` }),
    );
    tokens.answer(({ path }) =>
      path === "/token"
        ? json(200, { access_token: "ya29.token-of-the-robot", expires_in: 3600, token_type: "Bearer" })
        : json(400, { error: "invalid_grant" }),
    );
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await tokens.close();
  });
  const vertex = (file: string): object => ({
    family: "vertex",
    project: "p",
    location: "europe-west4",
    credential: { file: join(folder, file) },
  });

  it("one token serves many requests; Claude has its own path", async () => {
    const got = (): number => tokens.calls.filter(({ path }) => path === "/token").length;
    // A forwarder gets the first as soon as the account is there.
    const before = got();
    await using scene = await stage.scene({
      order: ["A"],
      providers: { A: vertex("account.json") },
      groups: { claude: { order: ["A"] } },
      deployments: { A: { model: "claude-sonnet-5" } },
    });
    scene.A.answer(
      json(200, {
        id: "msg_1",
        type: "message",
        role: "assistant",
        model: "claude",
        content: [{ type: "text", text: "hi" }],
        stop_reason: "end_turn",
        usage: { input_tokens: 1, output_tokens: 1 },
      }),
    );
    const replies = await Promise.all([scene.ask({}), scene.ask({}), scene.ask({})]);
    expect(replies.map(({ content }) => content)).toEqual(["hi", "hi", "hi"]);
    const own = await scene.send({ max_tokens: 3 }, { path: "/v1/messages" });
    expect(own.status).toBe(200);
    expect(got() - before).toBe(1);
    for (const call of scene.A.calls) {
      expect(call.path).toBe(
        "/v1/projects/p/locations/europe-west4/publishers/anthropic/models/claude-sonnet-5:rawPredict",
      );
      expect(call.header("authorization")).toBe("Bearer ya29.token-of-the-robot");
      expect(call.json()).toMatchObject({ anthropic_version: "vertex-2023-10-16" });
      expect(call.json()).not.toHaveProperty("model");
    }
  });

  it("R10: an account without a token is not ready, and another serves", async () => {
    await using scene = await stage.scene({ providers: { A: vertex("broken.json") } });
    scene.B.answer(OK("b"));
    const reply = await scene.ask({});
    expect(reply.content).toBe("b");
    expect(scene.counts).toEqual({ A: 0, B: 1 });
  });

  it("Gemini is served there as well", async () => {
    await using scene = await stage.scene({ order: ["A"], providers: { A: vertex("account.json") } });
    scene.A.answer(({ path }) => answerOf(path, [{ text: "hi" }]));
    expect(await scene.stream()).toMatchObject({ status: 200, text: "hi", done: true });
    expect(scene.A.calls[0]?.path).toBe(
      "/v1/projects/p/locations/europe-west4/publishers/google/models/m-A:streamGenerateContent?alt=sse",
    );
  });
});
