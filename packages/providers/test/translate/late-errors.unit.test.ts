import { describe, expect, it } from "vitest";
import type { Endpoint } from "@switchyard/core";
import { planOf, runStream } from "../support/exchange.ts";

const HI = [{ role: "user", content: "hi" }];
const ASKS: Readonly<Record<string, object>> = {
  chat: { model: "g", stream: true, messages: HI },
  messages: { model: "g", stream: true, max_tokens: 9, messages: HI },
  responses: { model: "g", stream: true, input: "hi" },
};
const LATE = 'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"late"}}\n\n';
const CHAT =
  'data: {"id":"c","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"stop"}]}\n\n' +
  "data: [DONE]\n\n";
const MESSAGES = [
  { type: "message_start", message: { id: "m", content: [], usage: {} } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "a" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
  { type: "message_stop" },
]
  .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
  .join("");

describe("E6: an error after the end of an answer fails nothing", () => {
  it.each(["messages", "responses"] as Endpoint[])("a caller of %s is told the end last", (endpoint) => {
    const plan = (): ReturnType<typeof planOf> =>
      planOf(endpoint, "openai_compatible", ASKS[endpoint] as object);
    const whole = runStream(plan(), [CHAT]);
    expect(runStream(plan(), [CHAT, LATE])).toEqual(whole);
    expect(whole).toMatchObject({ verdict: "complete", failure: undefined });
  });

  it.each([
    ["chat", "openai_compatible", CHAT],
    ["messages", "anthropic", MESSAGES],
  ] as const)("P1: to a caller of %s it passes as it came", (endpoint, family, answer) => {
    const plan = planOf(endpoint, family, ASKS[endpoint] as object);
    expect(runStream(plan, [answer, LATE])).toMatchObject({
      verdict: "complete",
      failure: undefined,
      text: answer + LATE,
    });
  });
});

describe("P5: a plain JSON error where an event should be", () => {
  const chunk = 'data: {"id":"c","model":"m","choices":[{"index":0,"delta":{"content":"a"}}]}\n\n';
  const error = { error: { code: 500, message: "internal", status: "INTERNAL" } };

  it.each([JSON.stringify(error, undefined, 2), JSON.stringify([error]), `[ ${JSON.stringify(error)}\n]`])(
    "is the provider's, whole or in a list: %s",
    (said) => {
      for (const endpoint of ["chat", "messages"] as const) {
        const plan = planOf(endpoint, "openai_compatible", ASKS[endpoint] as object);
        const run = runStream(plan, [chunk, said]);
        expect(run).toMatchObject({ verdict: "cut", failure: said });
        expect(run.text).not.toContain("internal");
      }
    },
  );

  it("a word in brackets is none", () => {
    const plan = planOf("chat", "openai_compatible", ASKS["chat"] as object);
    expect(runStream(plan, [chunk, "[DONE]\n\n"]).failure).toBeUndefined();
  });
});
