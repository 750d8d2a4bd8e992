import { create } from "@bufbuild/protobuf";
import type { Price } from "@switchyard/proto/config/v1/config";
import { TokenUsageSchema } from "@switchyard/proto/events/v1/events";
import type { TokenUsage as WireUsage } from "@switchyard/proto/events/v1/events";
import type { TokenUsage } from "@switchyard/providers";

/** A price of one dollar for a million tokens is this many units for each: whole numbers add up exactly. */
const UNITS_PER_PRICE = 1_000_000;
const UNITS_PER_USD = 1_000_000_000_000;

/** USD; undefined without a price or without usage. Exact where prices have at most six decimals. */
export function costOf(usage: TokenUsage | undefined, price: Price | undefined): number | undefined {
  if (usage === undefined || price === undefined) return undefined;
  const units = usage.input * unitPrice(price.input) + usage.output * unitPrice(price.output);
  return units / UNITS_PER_USD;
}

function unitPrice(usdPerMillion: number): number {
  return Math.round(usdPerMillion * UNITS_PER_PRICE);
}

/** A decimal without an exponent, as `x-ants-cost` has it (H2). */
export function formatCost(usd: number): string {
  // Beyond what a number holds exactly its last digits are noise.
  const exact = usd * UNITS_PER_USD <= Number.MAX_SAFE_INTEGER;
  const fixed = usd.toFixed(exact ? 12 : Math.max(0, 15 - usd.toFixed(0).length));
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

export function usageToWire(usage: TokenUsage): WireUsage {
  return create(TokenUsageSchema, {
    input: count(usage.input),
    output: count(usage.output),
    cached: count(usage.cached),
    reasoning: count(usage.reasoning),
  });
}

/** A provider may claim any number; one that no counter holds must not break whoever writes it down. */
function count(tokens: number): bigint {
  return BigInt(Math.min(Math.round(tokens), Number.MAX_SAFE_INTEGER));
}
