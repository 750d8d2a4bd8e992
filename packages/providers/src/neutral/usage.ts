import type { TokenCounts } from "@switchyard/core";

/**
 * What one answer used, as its provider told it, in one convention for all: `input` is all that was read and `output` all that was
 * written, hidden reasoning with it; the parts add up to no more than that, see {@link TokenCounts}. `total` is the provider's own.
 */
export interface TokenUsage extends TokenCounts {
  readonly total: number;
  readonly cached: number;
  readonly reasoning: number;
  /** What the provider says that it charges, USD; absent where it does not. */
  readonly chargedUsd?: number;
}
