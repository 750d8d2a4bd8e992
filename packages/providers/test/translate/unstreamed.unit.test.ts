import { describe, expect, it } from "vitest";
import type { Endpoint } from "@switchyard/core";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { bytesOf, textOf } from "../support/bytes.ts";
import { eventsOf, planOf } from "../support/exchange.ts";

const HI = [{ role: "user", content: "hi" }];
const CHAT = {
  id: "c",
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "hey" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};
const MESSAGE = {
  id: "m",
  type: "message",
  role: "assistant",
  model: "claude",
  content: [{ type: "text", text: "hey" }],
  stop_reason: "end_turn",
  usage: { input_tokens: 3, output_tokens: 2 },
};

const read = (endpoint: Endpoint, family: FamilyName, body: object, answer: object): object =>
  planOf(endpoint, family, { model: "g", ...body }).readAnswer(bytesOf(JSON.stringify(answer)));

describe("P2: a translated answer of a server that does not stream what was to be streamed", () => {
  it.each<[Endpoint, FamilyName, object, object, object]>([
    [
      "chat",
      "anthropic",
      { messages: HI, stream_options: { include_usage: true } },
      MESSAGE,
      { usage: { total_tokens: 5 } },
    ],
    ["messages", "openai_compatible", { messages: HI, max_tokens: 9 }, CHAT, { type: "message_stop" }],
    ["responses", "openai_compatible", { input: "hi" }, CHAT, { type: "response.completed" }],
  ])("is the stream that a caller of %s asked for", (endpoint, family, body, answer, last) => {
    const told = read(endpoint, family, { ...body, stream: true }, answer);
    expect(told).toMatchObject({ kind: "usable", streamed: true, usage: { input: 3, output: 2 } });
    const text = textOf((told as { body: Uint8Array }).body);
    expect(text).toContain('"hey"');
    expect(eventsOf(text).at(-1)).toMatchObject(last);
    expect(read(endpoint, family, body, answer)).not.toHaveProperty("streamed");
  });

  it("is none where it can't be used", () => {
    const calls = [{ id: "a", type: "function", function: { name: "f", arguments: "{" } }];
    const choices = [{ index: 0, message: { tool_calls: calls }, finish_reason: "tool_calls" }];
    const body = { messages: HI, max_tokens: 9, stream: true };
    expect(read("messages", "openai_compatible", body, { ...CHAT, choices })).toMatchObject({
      kind: "invalid",
    });
  });
});
