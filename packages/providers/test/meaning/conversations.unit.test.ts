import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { planOf, sent } from "../support/exchange.ts";
import { type Asked, conversations, type Wishes } from "./conversation.ts";
import { plain, uncached, unthought } from "./plain-request.ts";
import { readConverseAsked, readGeminiAsked } from "./provider-request-readers.ts";
import { readChatAsked, readMessagesAsked, type RequestReader } from "./request-readers.ts";
import { writeChat, writeMessages, writeResponses } from "./request-writers.ts";

const CLAUDE = "us.anthropic.claude-sonnet-4-5-20250929-v1:0";

const ALL: Wishes = {
  links: true,
  failures: false,
  topK: false,
  stop: true,
  caches: true,
  oddIds: false,
  parallel: true,
  late: true,
};

type Caller = "chat" | "messages" | "responses";

/** What callers can't say. */
const CALLERS: Readonly<
  Record<Caller, { readonly write: (asked: Asked) => object; readonly wishes: Wishes }>
> = {
  chat: { write: writeChat, wishes: ALL },
  messages: { write: writeMessages, wishes: { ...ALL, failures: true, topK: true, late: false } },
  responses: { write: writeResponses, wishes: { ...ALL, stop: false, caches: false } },
};

interface TargetOf {
  readonly family: FamilyName;
  readonly model: string;
  readonly read: RequestReader;
  /** What it can't be asked. */
  readonly refused: Partial<Wishes>;
  readonly told: (asked: Asked) => Asked;
}

const TARGETS: Readonly<Record<string, TargetOf>> = {
  messages: {
    family: "anthropic",
    model: "claude-sonnet-4-5",
    read: readMessagesAsked,
    refused: {},
    told: (asked) => asked,
  },
  chat: {
    family: "openai_compatible",
    model: "m",
    read: readChatAsked,
    refused: {},
    told: (asked) => uncached(unthought(asked)),
  },
  converse: {
    family: "bedrock",
    model: CLAUDE,
    read: readConverseAsked,
    refused: { links: false },
    told: (asked) => asked,
  },
  gemini: {
    family: "gemini",
    model: "gemini-3-pro",
    read: readGeminiAsked,
    refused: { parallel: false },
    told: (asked) => uncached(unthought(asked)),
  },
};

const PAIRS = (Object.keys(CALLERS) as Caller[]).flatMap((caller) =>
  Object.keys(TARGETS)
    .filter((target) => target !== caller)
    .map((target) => ({ caller, target })),
);

describe("requests ask what their caller asked", () => {
  it.each(PAIRS)("P2: $caller to $target", ({ caller, target }) => {
    const { write, wishes } = CALLERS[caller];
    const { family, model, read, refused, told } = TARGETS[target] as TargetOf;
    fc.assert(
      fc.property(conversations({ ...wishes, ...refused }), (asked) => {
        const { text } = sent(planOf(caller, family, write(asked), { model }));
        expect(plain(read(text))).toEqual(plain(told(asked)));
      }),
      { numRuns: 60 },
    );
  });

  const ROUNDS: readonly (readonly [Caller, FamilyName, Caller, FamilyName, RequestReader])[] = [
    ["chat", "anthropic", "messages", "openai_compatible", readChatAsked],
    ["messages", "openai_compatible", "chat", "anthropic", readMessagesAsked],
    ["responses", "openai_compatible", "chat", "anthropic", readMessagesAsked],
    ["responses", "anthropic", "messages", "openai_compatible", readChatAsked],
  ];

  it.each(ROUNDS)("P2: %s to %s, and from there as %s to %s", (first, there, second, back, read) => {
    const { write, wishes } = CALLERS[first];
    fc.assert(
      // Chat can't say that a tool failed but in words.
      fc.property(conversations({ ...wishes, topK: false, failures: false }), (asked) => {
        const { text } = sent(planOf(first, there, write(asked), { model: "claude-sonnet-4-5" }));
        const again = sent(planOf(second, back, text, { model: "claude-sonnet-4-5" })).text;
        expect(plain(read(again))).toEqual(plain(uncached(unthought(asked))));
      }),
      { numRuns: 60 },
    );
  });
});
