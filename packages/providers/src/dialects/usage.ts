import { readValue } from "../json/scan.ts";

/**
 * Tokens of one answer as its provider counted them. `input` includes `cached` and `cacheWritten`, `output` includes `reasoning`.
 */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly cached: number;
  readonly reasoning: number;
  /** Part of `input` that was written to a cache; absent where the provider does not say. */
  readonly cacheWritten?: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads an OpenAI-shaped `usage` object from its bytes. Absent when it counts nothing. */
export function readOpenAiUsage(bytes: Uint8Array, start: number, end: number): TokenUsage | undefined {
  return openAiUsage(readValue(bytes, start, end));
}

/** The same of a parsed object. */
export function openAiUsage(value: unknown): TokenUsage | undefined {
  const usage = fieldsOf(value);
  const input = count(usage["prompt_tokens"]) ?? count(usage["input_tokens"]);
  const written = count(usage["completion_tokens"]) ?? count(usage["output_tokens"]);
  const stated = count(usage["total_tokens"]);
  if (input === undefined && written === undefined && stated === undefined) return undefined;

  const inputDetails = fieldsOf(usage["prompt_tokens_details"] ?? usage["input_tokens_details"]);
  const outputDetails = fieldsOf(usage["completion_tokens_details"] ?? usage["output_tokens_details"]);
  const cached =
    count(inputDetails["cached_tokens"]) ??
    count(usage["prompt_cache_hit_tokens"]) ??
    count(usage["cached_tokens"]) ??
    0;
  const reasoning = count(outputDetails["reasoning_tokens"]) ?? count(usage["reasoning_tokens"]) ?? 0;
  // Some providers (xAI) count reasoning beside the completion; their total tells.
  const isBeside = stated === (input ?? 0) + (written ?? 0) + reasoning;
  const output = (written ?? 0) + (isBeside ? reasoning : 0);
  const read = { input: input ?? 0, output, total: stated ?? (input ?? 0) + output, cached, reasoning };
  const cacheWritten = count(inputDetails["cache_write_tokens"]);
  return cacheWritten === undefined ? read : { ...read, cacheWritten };
}

/**
 * Reads Anthropic's `usage`, of a stream the one of its start and the one of its end: what the end says counts. Absent when neither
 * counts anything. Anthropic counts what a cache gave and took beside the input.
 */
export function anthropicUsage(atStart: unknown, atEnd?: unknown): TokenUsage | undefined {
  const first = fieldsOf(atStart);
  const last = fieldsOf(atEnd);
  const told = (key: string): number | undefined => count(last[key]) ?? count(first[key]);
  const uncached = told("input_tokens");
  const written = told("output_tokens");
  if (uncached === undefined && written === undefined) return undefined;
  const cached = told("cache_read_input_tokens") ?? 0;
  const cacheWritten = told("cache_creation_input_tokens") ?? 0;
  const details = fieldsOf(last["output_tokens_details"] ?? first["output_tokens_details"]);
  const reasoning = count(details["thinking_tokens"]) ?? count(details["reasoning_tokens"]) ?? 0;
  const input = (uncached ?? 0) + cached + cacheWritten;
  const output = written ?? 0;
  return { input, output, total: input + output, cached, reasoning, cacheWritten };
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

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
