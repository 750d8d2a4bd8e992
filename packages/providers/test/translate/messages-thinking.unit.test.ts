import { describe, expect, it } from "vitest";
import { planOf, sent } from "../support/exchange.ts";

const OLD = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";
const NEW = "us.anthropic.claude-opus-4-7-v1:0";

function fieldsOf(model: string, fields: object, endpoint: "chat" | "messages" = "messages"): unknown {
  const body = { model: "g", max_tokens: 9000, messages: [{ role: "user", content: "hi" }], ...fields };
  return sent(planOf(endpoint, "bedrock", body, { model })).json["additionalModelRequestFields"];
}

describe("thinking, as a caller of messages says it, to Claude on Bedrock (P2)", () => {
  it.each([OLD, NEW])("effort alone turns no thinking on (%s)", (model) => {
    expect(fieldsOf(model, { output_config: { effort: "high" } })).toStrictEqual({
      output_config: { effort: "high" },
    });
  });

  it("a budget and an effort both go on", () => {
    const thinking = { type: "enabled", budget_tokens: 2000 };
    expect(fieldsOf(OLD, { thinking, output_config: { effort: "low" } })).toStrictEqual({
      thinking,
      output_config: { effort: "low" },
    });
  });

  it("effort goes on where thinking is off", () => {
    const thinking = { type: "disabled" };
    expect(fieldsOf(NEW, { thinking, output_config: { effort: "low" } })).toStrictEqual({
      thinking,
      output_config: { effort: "low" },
    });
  });

  it.each([undefined, "omitted", "summarized"])("thinking is shown as the caller says: %s", (display) => {
    const thinking = display === undefined ? { type: "adaptive" } : { type: "adaptive", display };
    expect(fieldsOf(NEW, { thinking })).toStrictEqual({ thinking });
  });

  it("callers of chat have their thinking shown", () => {
    expect(fieldsOf(NEW, { reasoning_effort: "low" }, "chat")).toStrictEqual({
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "low" },
    });
  });

  it("what nobody knows of thinking is refused by name", () => {
    const thinking = { type: "adaptive", novelty: 1 };
    expect(() => fieldsOf(NEW, { thinking })).toThrow("thinking.novelty");
  });
});

describe("thinking, as a caller of messages says it, to Gemini (P2)", () => {
  it.each([
    [{ output_config: { effort: "high" } }, false],
    [{ thinking: { type: "enabled", budget_tokens: 2000, display: "omitted" } }, false],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, true],
  ])("%j shows thoughts: %s", (fields, includeThoughts) => {
    const body = { model: "g", max_tokens: 9000, messages: [{ role: "user", content: "hi" }], ...fields };
    const { generationConfig } = sent(planOf("messages", "gemini", body, { model: "gemini-3-pro" })).json;
    expect(generationConfig).toMatchObject({ thinkingConfig: { includeThoughts } });
  });
});
