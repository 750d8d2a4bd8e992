import { create } from "@bufbuild/protobuf";
import { tokenCost } from "@switchyard/core";
import type { Price } from "@switchyard/proto/config/v1/config";
import { TokenUsageSchema } from "@switchyard/proto/events/v1/events";
import type { TokenUsage as WireUsage } from "@switchyard/proto/events/v1/events";
import type { TokenUsage } from "@switchyard/providers";

/** Digits that a cost has after its point: prices have six, for a million tokens. */
const DECIMALS = 12;
const UNITS_PER_USD = 10 ** DECIMALS;

/**
 * USD; undefined where nobody tells. The config's price is the operator's word and counts before what the provider says that it charges:
 * the operator may have terms of its own.
 */
export function costOf(usage: TokenUsage | undefined, price: Price | undefined): number | undefined {
  if (usage === undefined) return undefined;
  return price === undefined ? usage.chargedUsd : tokenCost(usage, price);
}

/** A decimal without an exponent, as `x-ants-cost` has it (H2). */
export function formatCost(usd: number): string {
  // Beyond what a number holds exactly its last digits are noise.
  const exact = usd * UNITS_PER_USD <= Number.MAX_SAFE_INTEGER;
  const fixed = usd.toFixed(exact ? DECIMALS : Math.max(0, 15 - usd.toFixed(0).length));
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

export function usageToWire(usage: TokenUsage): WireUsage {
  return create(TokenUsageSchema, {
    input: count(usage.input),
    output: count(usage.output),
    cached: count(usage.cached),
    cacheWritten: count(usage.cacheWritten),
    audioInput: count(usage.audioInput),
    reasoning: count(usage.reasoning),
    audioOutput: count(usage.audioOutput),
  });
}

/** A provider may claim any number; one that no counter holds must not break whoever writes it down. */
function count(tokens = 0): bigint {
  return BigInt(Math.min(Math.round(tokens), Number.MAX_SAFE_INTEGER));
}
