import { readValue } from "../json/scan.ts";

/** Tokens of one answer as its provider counted them. `input` includes `cached`, `output` includes `reasoning`. */
export interface TokenUsage {
  readonly input: number;
  readonly output: number;
  readonly total: number;
  readonly cached: number;
  readonly reasoning: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** Reads an OpenAI-shaped `usage` object from its bytes. Absent when it counts nothing. */
export function readOpenAiUsage(bytes: Uint8Array, start: number, end: number): TokenUsage | undefined {
  const usage = fieldsOf(readValue(bytes, start, end));
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
  return { input: input ?? 0, output, total: stated ?? (input ?? 0) + output, cached, reasoning };
}

function fieldsOf(value: unknown): Fields {
  return typeof value === "object" && value !== null ? (value as Fields) : {};
}

function count(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) && value >= 0 ? value : undefined;
}
