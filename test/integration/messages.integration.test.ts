import { expect, it } from "vitest";
import { AE, CH, DONE, EOF, failure, FLUSH, HEALTHY, json, OK, ROLE, sse, USAGE } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";

const PATH = "/v1/messages";
const ANTHROPIC = { family: "anthropic" };
/** A speaks Anthropic's API, B OpenAI's. */
const MIXED: SceneSpec = { providers: { A: ANTHROPIC } };
const ONE: SceneSpec = { order: ["A"], providers: { A: ANTHROPIC } };

const START = AE("message_start", {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    model: "claude",
    content: [],
    usage: { input_tokens: 5, output_tokens: 1 },
  },
});
const PING = AE("ping", { type: "ping" });
const OVERLOADED = AE("error", { type: "error", error: { type: "overloaded_error", message: "Overloaded" } });
const delta = (text: string): string =>
  AE("content_block_delta", { type: "content_block_delta", index: 0, delta: { type: "text_delta", text } });
const END = AE("message_delta", {
  type: "message_delta",
  delta: { stop_reason: "end_turn", stop_sequence: null },
  usage: { output_tokens: 2 },
});
const STOP = AE("message_stop", { type: "message_stop" });

function message(text: string): Answer {
  return json(200, {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model: "claude",
    content: [{ type: "text", text }],
    stop_reason: "end_turn",
    usage: { input_tokens: 5, output_tokens: 2 },
  });
}

interface Got {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function ask(scene: Scene, path: string, fields: object): Promise<Got> {
  const response = await scene.send(
    { max_tokens: 9, ...fields },
    { path, headers: { "anthropic-beta": "beta-1", "openai-beta": "beta-2" } },
  );
  const type = response.headers.get("content-type") ?? "";
  return { status: response.status, type, text: await response.text() };
}

forEachForm("messages", {}, (stage) => {
  it.concurrent("P1: Anthropic's own dialect passes byte for byte, whole and streamed", async () => {
    await using scene = await stage.scene(ONE);
    const stream = START + PING + delta("é") + END + STOP;
    scene.A.answer((call) =>
      call.body.includes("true") ? sse([stream.slice(0, 200), FLUSH, stream.slice(200)]) : message("hi"),
    );
    const streamed = await ask(scene, `${PATH}?beta=true`, {
      stream: true,
      context_management: { edits: [] },
    });
    expect(streamed).toMatchObject({ status: 200, text: stream });
    expect(scene.A.calls[0]?.path).toBe("/v1/messages?beta=true");
    expect(scene.A.calls[0]?.header("anthropic-beta")).toBe("beta-1");
    expect(scene.A.calls[0]?.header("anthropic-version")).toBe("2023-06-01");
    expect(scene.A.calls[0]?.json()).toMatchObject({ context_management: { edits: [] } });
    expect(JSON.parse((await ask(scene, PATH, {})).text)).toMatchObject({
      id: "msg_1",
      content: [{ text: "hi" }],
    });
  });

  it.concurrent("count_tokens goes to Anthropic and to nobody else", async () => {
    await using scene = await stage.scene(MIXED);
    scene.A.answer(json(200, { input_tokens: 12 }));
    const counted = await ask(scene, `${PATH}/count_tokens`, { max_tokens: undefined });
    expect(counted).toMatchObject({ status: 200, text: '{"input_tokens":12}' });
    expect(scene.A.calls[0]?.path).toBe("/v1/messages/count_tokens");
    await using other = await stage.scene({ order: ["A"] });
    expect(await ask(other, `${PATH}/count_tokens`, {})).toMatchObject({ status: 400 });
  });

  it.concurrent("P2: a messages caller is served by a chat provider, whole and streamed", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer((call) =>
      call.body.includes('"stream":true')
        ? sse([
            ROLE,
            CH({ content: "from " }),
            FLUSH,
            CH({ content: "a" }),
            CH({}, "stop"),
            USAGE(7, 2),
            DONE,
          ])
        : OK("from a"),
    );
    const whole = await ask(scene, PATH, { system: "be brief", metadata: { user_id: "u" } });
    expect(whole).toMatchObject({ status: 200, type: "application/json" });
    expect(JSON.parse(whole.text)).toMatchObject({
      type: "message",
      content: [{ type: "text", text: "from a" }],
      stop_reason: "end_turn",
      usage: { input_tokens: 3, output_tokens: 2 },
    });
    expect(scene.A.calls[0]?.path).toBe("/v1/chat/completions");
    expect(scene.A.calls[0]?.header("anthropic-beta")).toBeUndefined();
    expect(scene.A.calls[0]?.json()).toMatchObject({
      messages: [{ role: "system", content: "be brief" }, { role: "user" }],
      max_tokens: 9,
      user: "u",
    });
    const streamed = await ask(scene, PATH, { stream: true });
    expect(streamed.type).toContain("text/event-stream");
    expect(streamed.text).toContain('"usage":{"input_tokens":7,');
    expect(streamed.text.endsWith(STOP)).toBe(true);
  });

  it.concurrent("P2: a chat caller is served by Anthropic", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer((call) =>
      call.body.includes('"stream":true') ? sse([START, PING, delta("hi"), END, STOP]) : message("hi"),
    );
    const whole = await scene.ask({ reasoning_effort: "none" });
    expect(whole.content).toBe("hi");
    expect(whole.json()).toMatchObject({
      object: "chat.completion",
      usage: { prompt_tokens: 5, completion_tokens: 2 },
    });
    const streamed = await scene.stream();
    expect(streamed).toMatchObject({ status: 200, text: "hi", done: true });
    expect(scene.A.calls[1]?.json()).toMatchObject({ max_tokens: 32_000, stream: true });
  });

  it.concurrent.for([
    ["first", [OVERLOADED, EOF]],
    ["after message_start and ping", [START, FLUSH, PING, FLUSH, OVERLOADED, EOF]],
  ] as const)("BH-05 fails over across dialects from an error that comes %s (E6)", async ([, steps]) => {
    await using scene = await stage.scene(MIXED);
    scene.A.answer(sse([...steps]));
    scene.B.answer(HEALTHY("from b"));
    const chat = await scene.stream();
    expect(chat).toMatchObject({ status: 200, text: "from b", done: true });
    expect(chat.events.filter((event) => event.data.includes('"role"'))).toHaveLength(1);
    expect(chat.attempts.map(({ error }) => error)).toEqual(["overloaded", undefined]);
    expect((await ask(scene, PATH, { stream: true })).text).toContain('"text":"from b"');
    expect(scene.counts).toEqual({ A: 1, B: 2 });
  });

  it.concurrent("BH-05, E7: an overloaded stream alone is a plain error in each dialect", async () => {
    await using scene = await stage.scene({ ...ONE, policy: { bench: { failures: 0 } } });
    scene.A.answer(sse([START, OVERLOADED, EOF]));
    const chat = await scene.ask({ stream: true });
    expect([503, 529]).toContain(chat.status);
    expect(chat.error).toMatchObject({
      message: "Overloaded",
      type: "overloaded_error",
      code: null,
      param: null,
    });
    const own = await ask(scene, PATH, { stream: true });
    expect(JSON.parse(own.text)).toMatchObject({
      type: "error",
      error: { type: "overloaded_error", message: "Overloaded" },
    });
  });

  it.concurrent("BH-16: a cut chat stream ends a messages stream with an error, no message_stop", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, FLUSH, CH({ content: "Half an ans" }), FLUSH, EOF]));
    scene.B.answer(HEALTHY("from b"));
    const { text } = await ask(scene, PATH, { stream: true });
    expect(text).toContain("Half an ans");
    expect(text).toMatch(/event: error\ndata: \{"type":"error"/u);
    expect(text).not.toMatch(/message_stop|end_turn|from b/u);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("BH-33, BH-34: a provider's 400 stays a 400 with its words, in Anthropic's envelope", async () => {
    await using scene = await stage.scene();
    scene.A.answer(
      failure(400, {
        message: "Unsupported value: 'temperature'",
        type: "invalid_request_error",
        param: "temperature",
      }),
    );
    for (const stream of [false, true]) {
      const got = await ask(scene, PATH, { stream });
      expect(got).toMatchObject({ status: 400, type: "application/json" });
      expect(JSON.parse(got.text)).toMatchObject({
        type: "error",
        error: { type: "invalid_request_error", message: "Unsupported value: 'temperature'" },
      });
    }
    expect(scene.counts).toEqual({ A: 2, B: 0 });
  });

  it.concurrent.for([
    [429, "rate_limit_error"],
    [500, "api_error"],
  ] as const)("BH-34: all providers answering %i give %s", async ([status, type]) => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(failure(status, { message: "no" }));
    const got = await ask(scene, PATH, { stream: true });
    expect(got).toMatchObject({ status, type: "application/json" });
    expect(JSON.parse(got.text)).toMatchObject({ type: "error", error: { type, message: "no" } });
  });

  it.concurrent("P2: what can't be translated is a 400 that names the field, and no provider is called", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    const own = await ask(scene, PATH, {
      mcp_servers: [{ type: "url", url: "https://x.example", name: "x" }],
    });
    expect(own.status).toBe(400);
    expect(JSON.parse(own.text)).toMatchObject({
      type: "error",
      error: {
        type: "invalid_request_error",
        message: expect.stringContaining("'mcp_servers'") as string,
      },
    });
    expect((await ask(scene, PATH, { max_tokens: undefined })).status).toBe(400);
    await using chat = await stage.scene(ONE);
    const reply = await chat.ask({ n: 2 });
    expect(reply.status).toBe(400);
    expect(reply.error).toMatchObject({
      code: "not_translatable",
      param: "n",
      type: "invalid_request_error",
    });
    expect([scene.counts, chat.counts]).toEqual([{ A: 0 }, { A: 0 }]);
  });

  it.concurrent("P2: who asked for a stream gets one of a provider that does not stream", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(OK("whole"));
    const got = await ask(scene, PATH, { stream: true });
    expect(got).toMatchObject({ status: 200, type: "text/event-stream; charset=utf-8" });
    expect(got.text).toContain('{"type":"text_delta","text":"whole"}');
    expect(got.text.endsWith(STOP)).toBe(true);
    expect(await scene.inFlight()).toBe(0);
  });

  it.concurrent("R5: a policy without translation does not send messages to a chat provider", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: { translate: false } });
    const got = await ask(scene, PATH, {});
    expect(got.status).toBe(400);
    expect(got.text).toContain("needs a provider with the Messages API");
    expect(scene.counts).toEqual({ A: 0 });
  });
});
