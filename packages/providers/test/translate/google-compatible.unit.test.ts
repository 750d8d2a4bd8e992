import { describe, expect, it } from "vitest";
import { answered, eventsOf, planOf, runStream, sent } from "../support/exchange.ts";

const ASK = { model: "g", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const COMPATIBLE = { account: { baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" } };
const signed = (thought_signature: string): object => ({ extra_content: { google: { thought_signature } } });
const call = (id: string, more: object = {}): object => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}" },
  ...more,
});

describe("BH-26: signatures of Google's compatible API", () => {
  it("reach callers of messages, and come back to the call and the text they came with", () => {
    const message = {
      role: "assistant",
      content: "so",
      ...signed("of-text"),
      tool_calls: [call("a", signed("of-a")), call("b")],
    };
    const answer = answered(planOf("messages", "gemini", ASK, COMPATIBLE), {
      id: "c",
      model: "m",
      choices: [{ index: 0, message, finish_reason: "tool_calls" }],
    });
    expect(answer["content"]).toEqual([
      { type: "thinking", thinking: "", signature: "google-gemini-v1:of-text" },
      { type: "text", text: "so" },
      { type: "thinking", thinking: "", signature: "google-gemini-v1:of-a" },
      { type: "tool_use", id: "a", name: "f", input: {} },
      { type: "tool_use", id: "b", name: "f", input: {} },
    ]);
    const results = ["a", "b"].map((tool_use_id) => ({ type: "tool_result", tool_use_id, content: "1" }));
    const messages = [
      ...ASK.messages,
      { role: "assistant", content: answer["content"] },
      { role: "user", content: results },
    ];
    const back = (family: "gemini" | "openai_compatible"): unknown =>
      (sent(planOf("messages", family, { ...ASK, messages }, COMPATIBLE)).json["messages"] as unknown[])[1];
    expect(back("gemini")).toEqual(message);
    const { extra_content: _signature, ...unsigned } = message as typeof message & { extra_content: unknown };
    expect(back("openai_compatible")).toEqual({ ...unsigned, tool_calls: [call("a"), call("b")] });
  });

  it("come in streams", () => {
    const delta = { tool_calls: [{ index: 0, ...call("a", signed("of-a")) }] };
    const chunk = { id: "c", model: "m", choices: [{ index: 0, delta, finish_reason: "tool_calls" }] };
    const plan = planOf("messages", "gemini", { ...ASK, stream: true }, COMPATIBLE);
    const { text } = runStream(plan, [`data: ${JSON.stringify(chunk)}\n\ndata: [DONE]\n\n`]);
    expect(eventsOf(text).flatMap(({ delta: told }) => told ?? [])).toContainEqual({
      type: "signature_delta",
      signature: "google-gemini-v1:of-a",
    });
  });
});
