import type { RequestFacts } from "./request-facts.ts";

/** What of a request tells how many tokens it will use. */
type SizeFacts = Pick<RequestFacts, "endpoint" | "bodyBytes" | "inputTokens" | "maxOutputTokens">;

/** Bytes of a body that are taken for one token, where nobody has counted. */
export const BYTES_PER_TOKEN = 4;

/** Output tokens expected of a request that sets no bound of its own. */
export const DEFAULT_OUTPUT_TOKENS = 1_000;

/** Input tokens to expect: as counted by whoever read the body, else a quarter of its bytes, never 0. */
export function expectedInputTokens(facts: SizeFacts): number {
  return facts.inputTokens ?? Math.max(1, Math.ceil(facts.bodyBytes / BYTES_PER_TOKEN));
}

/** Output tokens to expect: the caller's own bound, else {@link DEFAULT_OUTPUT_TOKENS}; none where nothing is generated. */
export function expectedOutputTokens(facts: SizeFacts): number {
  if (facts.endpoint === "embeddings" || facts.endpoint === "count_tokens") return 0;
  return facts.maxOutputTokens ?? DEFAULT_OUTPUT_TOKENS;
}

/** What a request reserves of a limit on tokens until its real usage is known. */
export function expectedTokens(facts: SizeFacts): number {
  return expectedInputTokens(facts) + expectedOutputTokens(facts);
}
