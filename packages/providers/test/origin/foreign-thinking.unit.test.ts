import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planOf, sent } from "../support/exchange.ts";

const unsigned = { type: "thinking", thinking: "t", signature: "" };
const signed = { ...unsigned, signature: "c2ln" };
const text = { type: "text", text: 'says "signature":"" itself' };

const contents = (content: unknown): unknown => {
  const body = { model: "g", max_tokens: 1, messages: [{ role: "assistant", content }] };
  return (sent(planOf("messages", "anthropic", body)).json["messages"] as { content: unknown }[])[0]?.content;
};

describe("thinking that nobody signed", () => {
  it("P2, item 7: is left out of what goes to Anthropic; all else stays", () => {
    expect(contents([unsigned, signed, text, unsigned])).toStrictEqual([signed, text]);
    expect(contents([unsigned])).toStrictEqual([{ type: "text", text: "…" }]);
    expect(contents("plain")).toBe("plain");
  });

  it("is found however the JSON is spaced, and wherever it stands", () => {
    const body = `{"messages":[{"role":"assistant","content":[ {"type" : "thinking", "thinking":"", "signature" : ""} , ${JSON.stringify(text)} ]}], "model":"g"}`;
    const plan = planOf("count_tokens", "anthropic", body);
    expect(sent(plan).json).toStrictEqual({ model: "m", messages: [{ role: "assistant", content: [text] }] });
  });

  it("P1: a body without any stays byte for byte", () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom<object>(signed, text)), fc.string(), (blocks, noise) => {
        const body = JSON.stringify({
          noise,
          model: "m",
          messages: [{ role: "assistant", content: blocks }],
        });
        expect(sent(planOf("messages", "anthropic", body)).text).toBe(body);
      }),
    );
  });
});

describe("a conversation that thinking was taken out of", () => {
  const foreign = { type: "thinking", thinking: "t", signature: "google-gemini-v1:c2ln" };
  const call = { type: "tool_use", id: "t1", name: "f", input: {} };
  const result = { role: "user", content: [{ type: "tool_result", tool_use_id: "t1", content: "r" }] };
  const enabled = { type: "enabled", budget_tokens: 1024 };
  const asked = (fields: object): Record<string, unknown> =>
    sent(
      planOf("messages", "anthropic", {
        model: "g",
        max_tokens: 9000,
        thinking: enabled,
        messages: [{ role: "user", content: "hi" }, { role: "assistant", content: [foreign, call] }, result],
        ...fields,
      }),
    ).json;
  const off = { type: "disabled" };

  it.each<[string, object, unknown]>([
    ["whose calls go on", {}, off],
    ["that adapts its thinking", { thinking: { type: "adaptive" } }, { type: "adaptive" }],
    ["that asks for none", { thinking: undefined }, undefined],
    [
      "whose last turn is said by the user",
      {
        messages: [
          { role: "assistant", content: [foreign] },
          { role: "user", content: "go on" },
        ],
      },
      enabled,
    ],
    [
      "whose calls kept thinking that is Claude's",
      { messages: [{ role: "assistant", content: [foreign, signed, call] }, result] },
      enabled,
    ],
    [
      "whose calls stand in two messages, with Claude's thinking before them",
      {
        messages: [
          { role: "assistant", content: [foreign, signed] },
          { role: "assistant", content: [call] },
          result,
        ],
      },
      enabled,
    ],
  ])("%s thinks as the API takes it", (_name, fields, thinking) => {
    expect(asked(fields)["thinking"]).toStrictEqual(thinking);
  });

  it("clears no thinking where there is none", () => {
    const clear = { type: "clear_thinking_20251015", keep: "all" };
    const other = { type: "clear_tool_uses_20250919" };
    const body = asked({ context_management: { edits: [clear, other] } });
    expect(body).toMatchObject({ thinking: off, context_management: { edits: [other] } });
    expect(asked({ context_management: { edits: [clear] }, thinking: { type: "adaptive" } })).toMatchObject({
      context_management: { edits: [clear] },
    });
  });

  it("an account of a model that is not Claude gets what nobody signed, as it may need it", () => {
    const plan = planOf(
      "messages",
      "openai_compatible",
      { model: "g", messages: [{ role: "assistant", content: [unsigned, foreign, call] }, result] },
      { model: "kimi-k3", account: { baseUrl: "https://h/v1", endpoints: ["messages"] } },
    );
    expect(sent(plan).json).toMatchObject({ messages: [{ content: [unsigned, call] }, result] });
  });
});
