import { describe, expect, it } from "vitest";
import { planOf } from "../support/exchange.ts";
import { bytesOf, textOf } from "../support/bytes.ts";

const HI = [{ role: "user", content: "hi" }];
const MESSAGES = { model: "g", max_tokens: 10, messages: HI };

describe("a chat completion for a messages caller", () => {
  it("P2: arguments that the bound on tokens cut off keep what is whole", () => {
    const call = {
      id: "t1",
      type: "function",
      function: { name: "f", arguments: '{"id": 9007199254740993, "c' },
    };
    const plan = planOf("messages", "openai", MESSAGES);
    const body = JSON.stringify({ choices: [{ finish_reason: "length", message: { tool_calls: [call] } }] });
    const reading = plan.readAnswer(bytesOf(body));
    const text = reading.kind === "usable" ? textOf(reading.body) : "";
    expect(text).toContain('"stop_reason":"max_tokens"');
    expect(text).toContain('"input":{"id":9007199254740993}');
  });
});
