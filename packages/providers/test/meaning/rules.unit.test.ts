import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { planOf, sent } from "../support/exchange.ts";
import { type Asked, conversations, type Wishes } from "./conversation.ts";
import { chatRules, converseRules, geminiRules, messagesRules, type RequestRules } from "./request-rules.ts";
import { writeChat, writeMessages, writeResponses } from "./request-writers.ts";

const WISHES: Wishes = {
  links: false,
  failures: true,
  topK: false,
  stop: true,
  caches: false,
  oddIds: true,
  parallel: false,
  late: true,
};

const efforts = fc.constantFrom("minimal", "low", "medium", "high", undefined);
const budgets = fc.constantFrom(1024, 2048, 8000, undefined);

const CALLERS: Readonly<Record<"chat" | "messages" | "responses", fc.Arbitrary<(asked: Asked) => object>>> = {
  chat: efforts.map((reasoning_effort) => (asked: Asked) => ({ ...writeChat(asked), reasoning_effort })),
  responses: efforts.map((effort) => (asked: Asked) => ({
    ...writeResponses(asked),
    reasoning: effort === undefined ? undefined : { effort },
  })),
  messages: budgets.map((budget_tokens) => (asked: Asked) => ({
    ...writeMessages(asked),
    // As Anthropic wants it of its callers.
    ...(budget_tokens === undefined || !beginsThinking(asked)
      ? {}
      : {
          thinking: { type: "enabled", budget_tokens },
          max_tokens: 10_000,
          temperature: 1,
          top_p: undefined,
          tool_choice: undefined,
        }),
  })),
};

/** Whether every answer gives back what was thought. */
function beginsThinking({ turns }: Asked): boolean {
  return turns.every(
    ({ role, parts: [first] }) => role !== "assistant" || /^(?:thinking|redacted)$/u.test(first?.kind ?? ""),
  );
}

const TARGETS: readonly (readonly [FamilyName, string, RequestRules])[] = [
  ["anthropic", "claude-sonnet-4-5", messagesRules],
  ["anthropic", "claude-opus-4-6", messagesRules],
  ["bedrock", "us.anthropic.claude-sonnet-4-5-20250929-v1:0", converseRules],
  ["bedrock", "us.anthropic.claude-opus-4-6-v1", converseRules],
  ["openai", "gpt-5", chatRules],
  ["openai_compatible", "m", chatRules],
  ["gemini", "gemini-3-pro", geminiRules],
];

const PASSING: Readonly<Record<string, string>> = {
  anthropic: "messages",
  openai: "chat",
  openai_compatible: "chat",
};

const CASES = (["chat", "messages", "responses"] as const).flatMap((caller) =>
  TARGETS.filter(
    ([family]) => PASSING[family] !== caller && (family !== "openai" || caller !== "responses"),
  ).map(([family, model, rules]) => ({ caller, family, model, rules })),
);

describe("no vendor refuses what is asked in its caller's name", () => {
  it.each(CASES)("P2: $caller to $family's $model", ({ caller, family, model, rules }) => {
    fc.assert(
      fc.property(
        conversations({ ...WISHES, late: caller !== "messages", stop: caller !== "responses" }),
        CALLERS[caller],
        (asked, write) => {
          expect(rules(sent(planOf(caller, family, write(asked), { model })).json)).toEqual([]);
        },
      ),
      { numRuns: 100 },
    );
  });
});
