import { isJsonNumber, type Json, numberOf } from "../json/lossless.ts";
import { readValue } from "../json/scan.ts";
import type { TokenUsage } from "../neutral/usage.ts";

/** Whole numbers from 0 as a provider told them, whether they add up or not. */
type Told = { readonly [Key in keyof TokenUsage]?: TokenUsage[Key] | undefined } & {
  readonly input: number;
  readonly output: number;
};

type Fields = Readonly<Record<string, unknown>>;

/** xAI's unit: 10^10 ticks are a dollar. */
const TICKS_PER_USD = 10_000_000_000;

/** Makes what was told add up: a part that claims more than is left of its whole (Azure's Grok caches more than it reads) is only that. */
export function usageOf(told: Told): TokenUsage {
  const { input, output, cacheWritten, chargedUsd } = told;
  const cached = within(told.cached, input);
  const written = within(cacheWritten, input - cached);
  const audioInput = within(told.audioInput, input - cached - written);
  const reasoning = within(told.reasoning, output);
  const audioOutput = within(told.audioOutput, output - reasoning);
  return {
    input,
    output,
    total: told.total ?? input + output,
    cached,
    reasoning,
    ...(cacheWritten === undefined ? {} : { cacheWritten: written }),
    ...(audioInput === 0 ? {} : { audioInput }),
    ...(audioOutput === 0 ? {} : { audioOutput }),
    ...(chargedUsd === undefined ? {} : { chargedUsd }),
  };
}

/** Reads an OpenAI-shaped `usage` object from its bytes. Absent when it counts nothing. */
export function readOpenAiUsage(bytes: Uint8Array, start: number, end: number): TokenUsage | undefined {
  return openAiUsage(readValue(bytes, start, end));
}

/** The same of a parsed object. */
export function openAiUsage(value: unknown): TokenUsage | undefined {
  const usage = fieldsOf(value);
  const read = countIn(usage, "prompt_tokens", "input_tokens");
  const written = countIn(usage, "completion_tokens", "output_tokens");
  const stated = countIn(usage, "total_tokens");
  if (read === undefined && written === undefined && stated === undefined) return undefined;

  const inputDetails = fieldsOf(usage["prompt_tokens_details"] ?? usage["input_tokens_details"]);
  const outputDetails = fieldsOf(usage["completion_tokens_details"] ?? usage["output_tokens_details"]);
  // Of an answer that only has a total (Voyage's embeddings) all was read.
  const input = read ?? Math.max(0, (stated ?? 0) - (written ?? 0));
  const thought = countIn(outputDetails, "reasoning_tokens") ?? countIn(usage, "reasoning_tokens");
  const beside = thoughtBeside(written, (stated ?? 0) - input - (written ?? 0), thought);
  return usageOf({
    input,
    output: (written ?? 0) + beside,
    total: stated,
    cached:
      countIn(inputDetails, "cached_tokens") ?? countIn(usage, "prompt_cache_hit_tokens", "cached_tokens"),
    cacheWritten: countIn(inputDetails, "cache_write_tokens"),
    audioInput: uncached(
      countIn(inputDetails, "audio_tokens"),
      countIn(fieldsOf(inputDetails["cached_tokens_details"]), "audio_tokens"),
    ),
    reasoning: thought ?? beside,
    audioOutput: countIn(outputDetails, "audio_tokens"),
    chargedUsd: chargeIn(usage),
  });
}

/**
 * Some count reasoning beside the completion, and tell it (xAI) or not (Google's API for OpenAI's callers): their total has `unseen`
 * tokens more than what was read and written.
 */
function thoughtBeside(written: number | undefined, unseen: number, thought: number | undefined): number {
  if (written === undefined || unseen <= 0) return 0;
  return thought === undefined || thought === unseen ? unseen : 0;
}

/**
 * Reads Anthropic's `usage`, of a stream the one of its start and the one of its end: what the end says counts. Absent when neither
 * counts anything. Anthropic counts what a cache gave and took beside the input, and the model's work on a compaction beside the answer.
 */
export function anthropicUsage(atStart: unknown, atEnd?: unknown): TokenUsage | undefined {
  const first = fieldsOf(atStart);
  const last = fieldsOf(atEnd);
  const told = (key: string): number | undefined => countIn(last, key) ?? countIn(first, key);
  const fresh = told("input_tokens");
  const written = told("output_tokens");
  if (fresh === undefined && written === undefined) return undefined;
  const cached = told("cache_read_input_tokens") ?? 0;
  const kinds = fieldsOf(last["cache_creation"] ?? first["cache_creation"]);
  const cacheWritten =
    told("cache_creation_input_tokens") ??
    (countIn(kinds, "ephemeral_5m_input_tokens") ?? 0) + (countIn(kinds, "ephemeral_1h_input_tokens") ?? 0);
  const details = fieldsOf(last["output_tokens_details"] ?? first["output_tokens_details"]);
  const answer = usageOf({
    input: (fresh ?? 0) + cached + cacheWritten,
    output: written ?? 0,
    cached,
    cacheWritten,
    reasoning: countIn(details, "thinking_tokens", "reasoning_tokens"),
    chargedUsd: chargeIn(last) ?? chargeIn(first),
  });
  return compactions(last["iterations"] ?? first["iterations"]).reduce(sum, answer);
}

/** Steps by other models (an advisor's) are left out: no price of this one is theirs. */
function compactions(iterations: unknown): TokenUsage[] {
  if (!Array.isArray(iterations)) return [];
  const steps = iterations.map(fieldsOf).filter(({ type }) => type === "compaction");
  // What a step itself says of steps does not count: an answer can't nest them.
  return steps.flatMap((step) => anthropicUsage({ ...step, iterations: undefined }) ?? []);
}

function sum(one: TokenUsage, other: TokenUsage): TokenUsage {
  return usageOf({
    ...one,
    input: one.input + other.input,
    output: one.output + other.output,
    total: one.total + other.total,
    cached: one.cached + other.cached,
    cacheWritten: (one.cacheWritten ?? 0) + (other.cacheWritten ?? 0),
    reasoning: one.reasoning + other.reasoning,
  });
}

/** Reads the `usage` of Bedrock's Converse, which like Anthropic's counts beside the input what a cache gave and took. */
export function converseUsage(value: unknown): TokenUsage | undefined {
  const usage = fieldsOf(value);
  return anthropicUsage({
    input_tokens: usage["inputTokens"],
    output_tokens: usage["outputTokens"],
    cache_read_input_tokens: usage["cacheReadInputTokens"],
    cache_creation_input_tokens: usage["cacheWriteInputTokens"],
  });
}

/**
 * The provider's own charge, USD: OpenRouter's `cost`, beside which the owner of a key of another vendor pays that vendor, or xAI's ticks,
 * which are 0 where another host (Azure) sends the bill.
 */
function chargeIn(usage: Fields): number | undefined {
  const cost = amount(usage["cost"]);
  if (cost !== undefined) {
    const vendors = amount(fieldsOf(usage["cost_details"])["upstream_inference_cost"]) ?? 0;
    return usage["is_byok"] === true ? cost + vendors : cost;
  }
  const ticks = amount(usage["cost_in_usd_ticks"]);
  return ticks === undefined || ticks === 0 ? undefined : ticks / TICKS_PER_USD;
}

/** The part that no cache gave. */
export function uncached(part: number | undefined, fromCache: number | undefined): number {
  return Math.max(0, (part ?? 0) - (fromCache ?? 0));
}

/** The members of an object, none of anything else. */
export function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

/** The first of these members that counts something: a number from 0, made whole and small enough to be counted exactly. */
export function countIn(fields: Fields, ...keys: readonly string[]): number | undefined {
  for (const key of keys) {
    const value = amount(fields[key]);
    if (value !== undefined) return Math.min(Math.round(value), Number.MAX_SAFE_INTEGER);
  }
  return undefined;
}

function amount(value: unknown): number | undefined {
  if (!isJsonNumber(value as Json | undefined)) return undefined;
  const number = numberOf(value as Parameters<typeof numberOf>[0]);
  return Number.isFinite(number) && number >= 0 ? number : undefined;
}

function within(part: number | undefined, whole: number): number {
  return Math.min(part ?? 0, whole);
}
