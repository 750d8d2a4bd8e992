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
