import { describe, expect, it } from "vitest";
import { planOf, sent } from "../support/exchange.ts";

const CLAUDE = "claude-sonnet-4-5";
const BEDROCKS = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const HI = { role: "user", content: "hi" };
const ASK = { model: "g", max_tokens: 9000, reasoning_effort: "low", messages: [HI] };

describe("what Claude refuses beside thinking", () => {
  it.each([
    [{ temperature: 0.2, top_k: 5 }, {}],
    [{ temperature: 0.2, top_p: 0.5 }, {}],
    [{ top_p: 0.97 }, { top_p: 0.97 }],
  ])("P2: of %j it gets %j", (asked, told) => {
    const { json } = sent(planOf("chat", "anthropic", { ...ASK, ...asked }, { model: CLAUDE }));
    const { thinking, temperature, top_p, top_k } = json;
    expect(thinking).toMatchObject({ type: "enabled" });
    expect({ temperature, top_p, top_k }).toEqual({
      temperature: undefined,
      top_p: undefined,
      top_k: undefined,
      ...told,
    });
    const { inferenceConfig, additionalModelRequestFields: more } = sent(
      planOf("chat", "bedrock", { ...ASK, ...asked }, { model: BEDROCKS }),
    ).json as { inferenceConfig: object; additionalModelRequestFields: object };
    expect(inferenceConfig).toEqual({ maxTokens: 9000, ...("top_p" in told ? { topP: told.top_p } : {}) });
    expect(more).not.toHaveProperty("top_k");
  });

  it("P2: without thinking it samples as it is told", () => {
    const { json } = sent(
      planOf("chat", "anthropic", { ...ASK, reasoning_effort: "none", temperature: 0.2 }, { model: CLAUDE }),
    );
    expect(json["temperature"]).toBe(0.2);
  });

  it("P2: thinking that did not come back, where the user says more after the results", () => {
    const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
    const tools = [{ type: "function", function: { name: "f" } }];
    const messages = [
      HI,
      { role: "assistant", content: null, tool_calls: [call] },
      { role: "tool", tool_call_id: "a", content: "1" },
      { role: "user", content: "and?" },
    ];
    const { json } = sent(planOf("chat", "anthropic", { ...ASK, tools, messages }, { model: CLAUDE }));
    expect(json).not.toHaveProperty("thinking");
  });
});
