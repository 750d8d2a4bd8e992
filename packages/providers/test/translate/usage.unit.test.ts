import { describe, expect, it } from "vitest";
import { readMessagesAnswer } from "../../src/dialects/anthropic/answer.ts";
import { MessagesStreamReader } from "../../src/dialects/anthropic/messages-stream.ts";
import { bytesOf } from "../support/bytes.ts";
import { answered, planOf, runStream } from "../support/exchange.ts";

const CHAT = { model: "g", messages: [{ role: "user", content: "hi" }] };
const RESPONSES = { model: "g", input: "hi" };
const MESSAGE = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "x" }],
  stop_reason: "end_turn",
};
const AE = (type: string, fields: object = {}): string =>
  `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;

describe("usage of a compaction", () => {
  // Anthropic counts a compaction in none of its sums.
  const usage = {
    input_tokens: 700,
    output_tokens: 30,
    cache_read_input_tokens: 0,
    cache_creation_input_tokens: 0,
    iterations: [
      {
        type: "compaction",
        input_tokens: 60_000,
        output_tokens: 500,
        cache_read_input_tokens: 4000,
        cache_creation_input_tokens: 20,
      },
      { type: "message", input_tokens: 700, output_tokens: 30 },
    ],
  };
  const counted = { input: 64_720, output: 530, total: 65_250, cached: 4000, cacheWritten: 20 };

  it("P2: counts what compacting the context took, whole and streamed", () => {
    expect(readMessagesAnswer(bytesOf(JSON.stringify({ ...MESSAGE, usage })))).toMatchObject({
      kind: "usable",
      usage: counted,
    });
    const reader = new MessagesStreamReader();
    const start = AE("message_start", {
      message: { ...MESSAGE, usage: { input_tokens: 1, output_tokens: 1 } },
    });
    reader.push(bytesOf(start + AE("message_delta", { delta: { stop_reason: "end_turn" }, usage })), []);
    expect(reader.usage).toMatchObject(counted);
  });

  it("P2: chat and responses are told all of it", () => {
    expect(answered(planOf("chat", "anthropic", CHAT), { ...MESSAGE, usage })["usage"]).toMatchObject({
      prompt_tokens: 64_720,
      completion_tokens: 530,
      total_tokens: 65_250,
      prompt_tokens_details: { cached_tokens: 4000, cache_write_tokens: 20 },
    });
    expect(
      answered(planOf("responses", "anthropic", RESPONSES), { ...MESSAGE, usage })["usage"],
    ).toMatchObject({ input_tokens: 64_720, output_tokens: 530, total_tokens: 65_250 });
  });
});

describe("usage in a stream of chat", () => {
  const pieces = [
    AE("message_start", {
      message: { ...MESSAGE, content: [], usage: { input_tokens: 3, output_tokens: 1 } },
    }),
    AE("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 4 } }),
    AE("message_stop"),
  ];

  it.each([
    [{ include_usage: true }, true],
    [{ include_usage: false }, false],
    [undefined, false],
  ])("P4: is told to who asks for it: %j", (stream_options, isTold) => {
    const { text, usage } = runStream(
      planOf("chat", "anthropic", { ...CHAT, stream: true, stream_options }),
      pieces,
    );
    expect(usage).toMatchObject({ input: 3, output: 4 });
    expect(text.includes('"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4')).toBe(isTold);
    expect(text.includes("usage")).toBe(isTold);
  });
});

describe("usage of a response", () => {
  it("P2: has every count that this API's clients read, where the provider does not tell it too", () => {
    const completion = {
      id: "c",
      model: "m",
      choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
      usage: { prompt_tokens: 4, completion_tokens: 6, total_tokens: 10 },
    };
    expect(answered(planOf("responses", "openai_compatible", RESPONSES), completion)["usage"]).toStrictEqual({
      input_tokens: 4,
      input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
      output_tokens: 6,
      output_tokens_details: { reasoning_tokens: 0 },
      total_tokens: 10,
    });
  });
});
