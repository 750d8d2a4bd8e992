import type { Endpoint } from "@switchyard/core";
import { describe, expect, it } from "vitest";
import type { TokenUsage } from "../../src/neutral/usage.ts";
import type { FamilyName } from "../../src/families/capabilities.ts";
import { planOf, runStream } from "../support/exchange.ts";
import { type ProviderCase, recordedCases } from "../support/fixtures.ts";
import { type ToldUsage, toldUsage } from "./told-usage.ts";

/** Which callers may ask for what an API answers. */
const CALLERS: Readonly<Record<string, readonly Endpoint[]>> = {
  "chat.completions": ["chat", "messages", "responses"],
  messages: ["messages", "chat", "responses"],
  responses: ["responses"],
  embeddings: ["embeddings"],
  converse: ["chat", "messages", "responses"],
  "converse-stream": ["chat", "messages", "responses"],
  generateContent: ["chat", "messages", "responses"],
  streamGenerateContent: ["chat", "messages", "responses"],
};

/** APIs that are not served, or pass as they are, and answers that cost nothing. */
const UNREAD = new Set([
  "audio.transcriptions",
  "completions",
  "count-tokens",
  "countTokens",
  "images.generations",
  "interactions",
  "invoke",
  "invoke-with-response-stream",
  "messages.batches",
  "messages.count_tokens",
  "batchEmbedContents",
  "predict",
  "responses.compact",
  "responses.input_tokens",
  "responses.retrieve.get",
  "models",
]);

/** Breaks off with an error that has its usage in it: an answer that failed is nobody's bill. */
const BROKEN = "openrouter/chat-reasoning-stream";

const ANSWERED = recordedCases().filter(({ status }) => status === 200);
const READ = ANSWERED.filter(({ endpoint }) => endpoint in CALLERS);

function familyOf({ name, endpoint }: ProviderCase): FamilyName {
  if (endpoint === "responses" || endpoint === "embeddings") return "openai";
  return endpoint === "chat.completions"
    ? "openai_compatible"
    : (name.slice(0, name.indexOf("/")) as FamilyName);
}

/** What the forwarder is told that the answer used. */
function usageFor(caller: Endpoint, recorded: ProviderCase): TokenUsage | undefined {
  const { stream, body } = recorded;
  const hi = [{ role: "user", content: "hi" }];
  const plan = planOf(caller, familyOf(recorded), {
    model: "g",
    ...(stream ? { stream } : {}),
    ...(caller === "responses" || caller === "embeddings" ? { input: "hi" } : { messages: hi }),
    ...(caller === "messages" ? { max_tokens: 9 } : {}),
  });
  if (stream) return runStream(plan, [body]).usage;
  const reading = plan.readAnswer(body);
  return reading.kind === "usable" ? reading.usage : undefined;
}

function told(usage: TokenUsage | undefined): ToldUsage | undefined {
  if (usage === undefined) return undefined;
  const { input, output, cached, cacheWritten, audioInput, reasoning, audioOutput, chargedUsd } = usage;
  return {
    input,
    output,
    cached,
    cacheWritten: cacheWritten ?? 0,
    audioInput: audioInput ?? 0,
    reasoning,
    audioOutput: audioOutput ?? 0,
    chargedUsd,
  };
}

describe("P2, BH-14: what every recorded answer used is told as its provider counted it", () => {
  it("every API that is recorded is read, or is known to tell nothing", () => {
    const unknown = ANSWERED.filter(({ endpoint }) => !(endpoint in CALLERS) && !UNREAD.has(endpoint));
    expect(unknown.map(({ name }) => name)).toStrictEqual([]);
    expect(
      READ.filter(({ endpoint, body }) => toldUsage(endpoint, body) !== undefined).length,
    ).toBeGreaterThan(120);
  });

  it.each(READ)("$name", (recorded) => {
    const expected = recorded.name === BROKEN ? undefined : toldUsage(recorded.endpoint, recorded.body);
    const callers = CALLERS[recorded.endpoint] ?? [];
    const usages = callers.map((caller) => [caller, told(usageFor(caller, recorded))] as const);
    expect(usages).toStrictEqual(callers.map((caller) => [caller, expected]));
  });
});

/** Read by a person, so that neither reader is believed blindly. */
const BY_HAND: readonly (readonly [string, Partial<ToldUsage>])[] = [
  ["anthropic/messages-cache-read-stream", { input: 1042, cached: 1031, output: 100 }],
  ["anthropic/messages-compaction", { input: 61_067, output: 1912 }],
  ["anthropic/messages-delta-input-tokens", { input: 61, output: 2 }],
  ["anthropic/messages-thinking-1", { input: 45, output: 39, reasoning: 23 }],
  ["azure-openai/chat-tool-single", { input: 203, cached: 203, output: 15, chargedUsd: undefined }],
  ["azure-openai/embeddings-float", { input: 2, output: 0 }],
  ["bedrock/converse-cache-read", { input: 1040, cached: 1028, output: 185 }],
  ["deepseek/chat-plain", { input: 12, cached: 0, output: 1 }],
  ["gemini/generate-cached", { input: 9622, cached: 9609, output: 171, reasoning: 136 }],
  ["gemini/generate-server-tool", { input: 2427, output: 88, reasoning: 47 }],
  ["gemini/openai-compat", { input: 66, output: 34, reasoning: 28 }],
  ["groq/chat-stream", { input: 18, output: 73 }],
  ["moonshot/chat-reasoning", { input: 20, cached: 10, output: 30, reasoning: 22 }],
  ["openai/chat-audio", { input: 28, audioInput: 1, output: 17, audioOutput: 0 }],
  ["openai/chat-cached-tokens", { input: 1149, cached: 1024, output: 261 }],
  ["openrouter/chat-reasoning", { input: 74, output: 21, reasoning: 2, chargedUsd: 0.00000537 }],
  ["openrouter/responses-plain-stream", { input: 78, output: 37, reasoning: 22, chargedUsd: 0.0000113 }],
  ["xai/chat-plain", { input: 12, cached: 2, output: 322, reasoning: 320, chargedUsd: 0.00016415 }],
  ["xai/responses-stream", { input: 199, cached: 128, output: 160, reasoning: 152, chargedUsd: 0.00051435 }],
];

it.each(BY_HAND)("BH-14: %s by hand", (name, expected) => {
  const recorded = READ.find((found) => found.name === name);
  const [caller] = CALLERS[recorded?.endpoint ?? ""] ?? [];
  expect(recorded && caller && told(usageFor(caller, recorded))).toMatchObject(expected);
});
