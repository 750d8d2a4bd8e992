import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { planOf, sent } from "../support/exchange.ts";

const CALL = { type: "tool_use", id: "t1", name: "f", input: {} };
const RESULT = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "r" }] };

/** The assistant's message as the provider gets it, of these blocks in a messages caller's history. */
function told(model: string, blocks: object[], family: FamilyName = "openai_compatible"): unknown {
  const messages = [{ role: "user", content: "hi" }, { role: "assistant", content: blocks }, RESULT];
  const body = { model: "g", max_tokens: 9, messages };
  return (sent(planOf("messages", family, body, { model })).json["messages"] as unknown[])[1];
}

const UNSIGNED = { type: "thinking", thinking: "Call f.", signature: "" };

describe("P2: thinking that nobody signed, in the history", () => {
  it.each(["deepseek-v4-pro", "deepseek-reasoner", "kimi-k2.6"])(
    "goes back to %s, which asks for it",
    (model) => {
      expect(told(model, [UNSIGNED, CALL])).toMatchObject({
        content: null,
        reasoning_content: "Call f.",
        tool_calls: [{ id: "t1" }],
      });
    },
  );

  it("another vendor's does not, and an answer without has a blank in its place", () => {
    expect(told("kimi-k2.6", [{ type: "thinking", thinking: "t", signature: "sig" }, CALL])).toMatchObject({
      reasoning_content: " ",
    });
    expect(told("deepseek-v4-flash", [CALL])).toMatchObject({ reasoning_content: " " });
  });

  it.each([
    ["openai/gpt-oss-120b", "openai_compatible"],
    ["moonshotai/kimi-k2-instruct", "openai_compatible"],
    ["mistral-medium-latest", "openai_compatible"],
    ["gpt-5", "openai"],
  ] as const)("stays away from %s, which would refuse the field", (model, family) => {
    expect(told(model, [UNSIGNED, CALL], family)).not.toHaveProperty("reasoning_content");
  });

  it("of a response's reasoning items goes back too", () => {
    const input = [
      { role: "user", content: "hi" },
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Call f." }] },
      { type: "function_call", call_id: "t1", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "t1", output: "r" },
    ];
    const plan = planOf(
      "responses",
      "openai_compatible",
      { model: "g", input },
      { model: "deepseek-v4-pro" },
    );
    expect((sent(plan).json["messages"] as unknown[])[1]).toMatchObject({ reasoning_content: "Call f." });
  });
});

it.each([
  ["deepseek-v4-pro", { type: "disabled" }],
  ["kimi-k2.6", { type: "disabled" }],
  ["glm-4.7", { type: "disabled" }],
  ["kimi-k2-thinking", undefined],
  ["llama-3.3-70b", undefined],
])("P2: no thinking is said to %s in its vendor's word, where there is one", (model, thinking) => {
  const ask = { model: "g", max_tokens: 9, messages: [{ role: "user", content: "hi" }] };
  const off = { ...ask, thinking: { type: "disabled" } };
  const sentTo = (body: object): unknown =>
    sent(planOf("messages", "openai_compatible", body, { model })).json["thinking"];
  expect(sentTo(off)).toStrictEqual(thinking);
  expect(sentTo(ask)).toBeUndefined();
});

it("P2: reasoning beside the answer, which Groq's callers ask for, is how it comes; within it is refused", () => {
  const ask = { model: "g", messages: [{ role: "user", content: "hi" }] };
  expect(sent(planOf("chat", "anthropic", { ...ask, reasoning_format: "parsed" })).json).not.toHaveProperty(
    "thinking",
  );
  expect(() => planOf("chat", "anthropic", { ...ask, reasoning_format: "raw" })).toThrow("reasoning_format");
});
