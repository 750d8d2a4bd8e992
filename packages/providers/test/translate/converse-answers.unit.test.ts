import { describe, expect, it } from "vitest";
import { recogniseError } from "../../src/errors/recognise-error.ts";
import type { Endpoint } from "@switchyard/core";
import { bytesOf, concat } from "../support/bytes.ts";
import { answered, eventsOf, planOf, runStream, type StreamRun } from "../support/exchange.ts";
import { converseEvent, converseException, frame } from "../support/frames.ts";

const HI = { role: "user", content: "hi" };
const START = converseEvent("messageStart", { role: "assistant", p: "abc" });
const delta = (value: object, index = 0): Uint8Array =>
  converseEvent("contentBlockDelta", { contentBlockIndex: index, delta: value });
const stopBlock = (index = 0): Uint8Array => converseEvent("contentBlockStop", { contentBlockIndex: index });
const stop = (stopReason: string, more = {}): Uint8Array =>
  converseEvent("messageStop", { stopReason, ...more });
const USAGE = converseEvent("metadata", {
  usage: {
    inputTokens: 3,
    outputTokens: 2,
    totalTokens: 905,
    cacheReadInputTokens: 900,
    cacheWriteInputTokens: 0,
  },
});

function stream(endpoint: Endpoint, frames: readonly Uint8Array[]): StreamRun {
  const body = { model: "g", max_tokens: 9, stream: true, messages: [HI] };
  return runStream(planOf(endpoint, "bedrock", body), [concat(frames)]);
}

describe("streams", () => {
  it("thinking, text and calls come out in both dialects, usage with what the cache gave (BH-25)", () => {
    const frames = [
      converseEvent("initial-response", {}),
      START,
      delta({ reasoningContent: { text: "th" } }),
      delta({ reasoningContent: { signature: "S" } }),
      stopBlock(),
      delta({ text: "é" }, 1),
      delta({ text: "" }, 1),
      stopBlock(1),
      converseEvent("contentBlockStart", {
        contentBlockIndex: 2,
        start: { toolUse: { toolUseId: "a", name: "f" } },
      }),
      delta({ toolUse: { input: '{"id":90071992' } }, 2),
      delta({ toolUse: { input: "54740993}" } }, 2),
      stopBlock(2),
      converseEvent("contentBlockStart", {
        contentBlockIndex: 3,
        start: { toolUse: { toolUseId: "b", name: "g" } },
      }),
      stopBlock(3),
      stop("tool_use"),
      USAGE,
    ];
    const chat = stream("chat", frames);
    expect(chat).toMatchObject({ verdict: "complete", usage: { input: 903, output: 2, cached: 900 } });
    const made = eventsOf(chat.text).flatMap((event) => {
      const [choice] = event["choices"] as { delta: { tool_calls?: { index: number }[] } }[];
      return choice?.delta.tool_calls ?? [];
    });
    expect(made.map(({ index }) => index)).toStrictEqual([0, 0, 0, 1, 1]);
    expect(chat.text).toContain('"arguments":"{}"');
    const messages = stream("messages", frames).text;
    expect(messages).toContain('"type":"signature_delta","signature":"S"');
    expect(messages).toContain(
      '"input_tokens":3,"cache_creation_input_tokens":0,"cache_read_input_tokens":900',
    );
    expect(messages).toContain('"stop_reason":"tool_use"');
    expect(messages.endsWith('event: message_stop\ndata: {"type":"message_stop"}\n\n')).toBe(true);
  });

  it.each([
    ["guardrail_intervened", "content_filter", "refusal"],
    ["content_filtered", "content_filter", "refusal"],
    ["max_tokens", "length", "max_tokens"],
    ["model_context_window_exceeded", "length", "max_tokens"],
  ])("stopReason %s is %s in chat and %s in messages", (native, chat, messages) => {
    const frames = [START, delta({ text: "x" }), stopBlock(), stop(native), USAGE];
    expect(stream("chat", frames).text).toContain(`"finish_reason":"${chat}"`);
    expect(stream("messages", frames).text).toContain(`"stop_reason":"${messages}"`);
  });

  it.each(["malformed_tool_use", "malformed_model_output"])("BH-16: stopReason %s is no end", (native) => {
    const { verdict, text, usage } = stream("chat", [START, delta({ text: "x" }), stop(native), USAGE]);
    expect([verdict, text.includes('finish_reason":"stop'), text.includes("[DONE]")]).toEqual([
      "cut",
      false,
      false,
    ]);
    expect(usage).toBeDefined();
    const message = { role: "assistant", content: [{ text: "x" }] };
    const whole = bytesOf(JSON.stringify({ output: { message }, stopReason: native }));
    const plan = planOf("messages", "bedrock", {
      model: "g",
      max_tokens: 9,
      messages: [{ role: "user", content: "hi" }],
    });
    expect(plan.readAnswer(whole).kind).toBe("invalid");
  });

  it("the stop sequence that Claude met is told", () => {
    const met = { additionalModelResponseFields: { stop_sequence: "END" } };
    const { text } = stream("messages", [START, delta({ text: "x" }), stop("stop_sequence", met), USAGE]);
    expect(text).toContain('"stop_reason":"stop_sequence","stop_sequence":"END"');
  });

  it("blocks that only this API has go on whole", () => {
    const start = { toolUse: { toolUseId: "s", name: "nova_grounding", type: "server_tool_use" } };
    const { text } = stream("chat", [
      START,
      converseEvent("contentBlockStart", { contentBlockIndex: 0, start }),
      delta({ toolUse: { input: "{}" } }),
      stopBlock(),
      delta({ text: "x" }, 1),
      stop("end_turn"),
    ]);
    expect(text).toContain('"provider_specific":[{"toolUse":{"toolUseId":"s"');
    expect(text).not.toContain("tool_calls");
  });

  it("BH-16: a stream that ends before messageStop is cut, one that lacks only its usage is whole", () => {
    expect(stream("chat", [START, delta({ text: "x" })]).verdict).toBe("cut");
    expect(stream("chat", [START, delta({ text: "x" }), stop("end_turn")]).verdict).toBe("complete");
    expect(stream("chat", []).verdict).toBe("empty");
    const bent = concat([START, delta({ text: "x" })]);
    bent[bent.length - 1] = (bent.at(-1) as number) ^ 1;
    expect(stream("chat", [bent]).verdict).toBe("cut");
  });

  it.each([
    ["throttlingException", "rate_limited"],
    ["serviceUnavailableException", "overloaded"],
    ["internalServerException", "server_error"],
    ["modelStreamErrorException", "stream_error"],
    ["validationException", "invalid_request"],
  ])("BH-17: %s in a stream is %s, before output and after", (type, expected) => {
    const failed = converseException(type, { message: "slow down" });
    const early = stream("chat", [START, failed, delta({ text: "late" })]);
    expect(early).toMatchObject({ committed: false, verdict: "cut" });
    expect(early.text).not.toContain("late");
    const late = stream("chat", [START, delta({ text: "Hel" }), failed]);
    expect(late).toMatchObject({ committed: true, verdict: "cut" });
    const body = late.failure ?? "";
    const answer = { family: "bedrock", status: 200, headers: () => undefined, body, inStream: true };
    expect(recogniseError(answer, 0)).toMatchObject({ class: expected, message: "slow down", code: type });
  });

  it("BH-17: errors without a payload, and payloads that are no JSON, are told too", () => {
    const headers = { ":message-type": "error", ":error-code": "InternalError", ":error-message": "oops" };
    expect(JSON.parse(stream("chat", [frame(headers, "")]).failure ?? "")).toStrictEqual({
      message: "oops",
      code: "InternalError",
    });
    const plain = stream("chat", [converseException("throttlingException", "slow")]).failure;
    expect(JSON.parse(plain ?? "")).toStrictEqual({ message: "slow", code: "throttlingException" });
  });
});

describe("answers", () => {
  const plan = planOf("chat", "bedrock", { model: "g", messages: [HI] });

  it("BH-28: digits of a call stay", () => {
    const input = '{"toolUseId":"a","name":"f","input":{"id":9007199254740993}}';
    const body = `{"output":{"message":{"content":[{"toolUse":${input}}]}},"stopReason":"tool_use"}`;
    expect(JSON.stringify(answered(plan, body))).toContain('{\\"id\\":9007199254740993}');
  });

  it("P2: how it was served, and what a guardrail found, goes on", () => {
    const beside = {
      trace: { guardrail: { actionReason: "none" } },
      performanceConfig: { latency: "standard" },
      serviceTier: { type: "priority" },
    };
    const output = { message: { content: [{ text: "x" }] } };
    expect(answered(plan, { output, stopReason: "end_turn", ...beside })["choices"]).toMatchObject([
      {
        message: {
          provider_specific: [
            { type: "trace", trace: beside.trace },
            { type: "performanceConfig", performanceConfig: beside.performanceConfig },
            { type: "serviceTier", serviceTier: beside.serviceTier },
          ],
        },
      },
    ]);
  });

  it("P2: thinking that nobody signed is nobody's to take back", () => {
    const content = [{ reasoningContent: { reasoningText: { text: "hm" } } }, { text: "x" }];
    const [choice] = answered(plan, { output: { message: { content } }, stopReason: "end_turn" })[
      "choices"
    ] as { message: object }[];
    expect(choice?.message).toStrictEqual({
      role: "assistant",
      content: "x",
      refusal: null,
      reasoning_content: "hm",
    });
  });

  it("BH-07: what is no answer is told from errors", () => {
    const kind = (body: object): string =>
      plan.readAnswer(new TextEncoder().encode(JSON.stringify(body))).kind;
    expect(kind({ message: "slow down" })).toBe("error");
    expect(kind({ __type: "ThrottlingException" })).toBe("error");
    expect(kind({ output: { message: { content: [] } } })).toBe("invalid");
    expect(kind({ output: { message: { content: [] } }, stopReason: "end_turn" })).toBe("usable");
    expect(kind({})).toBe("invalid");
    expect(kind([])).toBe("invalid");
  });
});
