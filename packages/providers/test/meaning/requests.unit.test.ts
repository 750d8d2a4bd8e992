import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { providerCases } from "../support/fixtures.ts";
import type { Asked, Part } from "./conversation.ts";
import { plain, uncached, unthought } from "./plain-request.ts";
import { FAMILIES, GOLDEN } from "./recorded.ts";
import { readConverseAsked, readGeminiAsked } from "./provider-request-readers.ts";
import {
  readChatAsked,
  readMessagesAsked,
  readResponsesAsked,
  type RequestReader,
} from "./request-readers.ts";
import { fields, parse } from "./values.ts";

const CALLERS: Readonly<Record<string, RequestReader>> = {
  "chat.completions": readChatAsked,
  messages: readMessagesAsked,
  responses: readResponsesAsked,
};

/** Golden files of a recorded request, by the caller's API: what each ends with, and who reads it. */
const TARGETS: Readonly<Record<string, Readonly<Record<string, RequestReader>>>> = {
  "chat.completions": { request: readMessagesAsked, converse: readConverseAsked, gemini: readGeminiAsked },
  messages: { request: readChatAsked, converse: readConverseAsked, gemini: readGeminiAsked },
  responses: { chat: readChatAsked, messages: readMessagesAsked },
};

const GOLDENS = Object.entries(TARGETS).flatMap(([endpoint, targets]) =>
  providerCases(FAMILIES, endpoint).flatMap(({ name, request }) =>
    Object.entries(targets).flatMap(([ending, read]) => {
      const path = `${GOLDEN}${name}.${ending}.json`;
      if (request === undefined || !existsSync(path)) return [];
      const golden = readFileSync(path, "utf8");
      return "refused" in fields(parse(golden)) ? [] : [{ name, endpoint, ending, read, request, golden }];
    }),
  ),
);

describe("what a provider is asked is what the recorded caller asked", () => {
  it.each(GOLDENS)("P2: $name as $ending", ({ endpoint, ending, read, request, golden }) => {
    const asked = (CALLERS[endpoint] as RequestReader)(new TextDecoder().decode(request));
    const told = ending === "converse" || read === readMessagesAsked ? asked : uncached(unthought(asked));
    // Anthropic wants a bound.
    const bound = read === readMessagesAsked ? { maxTokens: asked.maxTokens ?? 32_000 } : {};
    const counted = ending === "gemini" ? googles(told) : told;
    expect(plain(read(golden))).toEqual(plain({ ...counted, ...bound }));
  });
});

/** Gemini's calls have no ids: what stands here is their number. Its schemas know no `strict`, which is no keyword of JSON schema. */
function googles(asked: Asked): Asked {
  const ids = asked.turns.flatMap(({ parts }) =>
    parts.flatMap((part) => (part.kind === "call" ? [part.id] : [])),
  );
  const numbered = (part: Part): Part =>
    part.kind === "call" || part.kind === "result" ? { ...part, id: `call_${ids.indexOf(part.id)}` } : part;
  const tools = asked.tools.map((tool) => {
    const { strict: _strict, ...schema } = fields(tool.schema);
    return { ...tool, schema };
  });
  return {
    ...asked,
    tools,
    turns: asked.turns.map(({ role, parts }) => ({ role, parts: parts.map(numbered) })),
  };
}
