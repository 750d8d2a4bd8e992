import { describe, expect, it } from "vitest";
import { answered, eventsOf, planOf, runStream, sent } from "../support/exchange.ts";
import { call, signed } from "../support/google-calls.ts";

const ASK = { model: "g", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
const COMPATIBLE = { account: { baseUrl: "https://generativelanguage.googleapis.com/v1beta/openai" } };

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

  const SKIPPED = signed("skip_thought_signature_validator");
  const calls = [call("a"), call("b")];
  const results = ["a", "b"].map((tool_call_id) => ({ role: "tool", tool_call_id, content: "1" }));
  const asked = {
    model: "g",
    messages: [...ASK.messages, { role: "assistant", content: null, tool_calls: calls }, ...results],
  };
  const callsTo = (endpoint: "chat" | "messages", model: string, body: object): unknown => {
    const origin = { own: "own", shared: true };
    const { json } = sent(planOf(endpoint, "gemini", body, { ...COMPATIBLE, model, origin }));
    return (json["messages"] as { tool_calls?: unknown }[])[1]?.tool_calls;
  };

  it("that are not there are said to be none, at the first call alone, to models that ask for them", () => {
    expect(callsTo("chat", "gemini-3-flash", asked)).toEqual([call("a", SKIPPED), call("b")]);
    expect(callsTo("chat", "gemini-2.5-pro", asked)).toEqual(calls);
    const used = ["a", "b"].map((id) => ({ type: "tool_use", id, name: "f", input: {} }));
    const given = ["a", "b"].map((id) => ({ type: "tool_result", tool_use_id: id, content: "1" }));
    const messages = [
      ...ASK.messages,
      { role: "assistant", content: used },
      { role: "user", content: given },
    ];
    expect(callsTo("messages", "gemini-3-flash", { ...ASK, messages })).toEqual([
      call("a", SKIPPED),
      call("b"),
    ]);
    expect(callsTo("messages", "gemini-2.0-flash", { ...ASK, messages })).toEqual(calls);
  });

  it("P1: a conversation without calls, or with signed ones, passes as it is", () => {
    const told = { role: "assistant", content: null, tool_calls: [call("a"), call("b", signed("of-b"))] };
    for (const answer of [told, { role: "assistant", content: "x", tool_calls: [] }]) {
      const text = JSON.stringify({ model: "m", messages: [...ASK.messages, answer] });
      const origin = { own: "own", shared: false };
      expect(sent(planOf("chat", "gemini", text, { ...COMPATIBLE, origin })).text).toBe(text);
    }
  });
});
