import { create } from "@bufbuild/protobuf";
import type { Price } from "@switchyard/proto/config/v1/config";
import { TokenUsageSchema } from "@switchyard/proto/events/v1/events";
import type { TokenUsage as WireUsage } from "@switchyard/proto/events/v1/events";
import type { TokenUsage } from "@switchyard/providers";

const TOKENS_PER_PRICE = 1_000_000;

/** USD; undefined without a price or without usage. */
export function costOf(usage: TokenUsage | undefined, price: Price | undefined): number | undefined {
  if (usage === undefined || price === undefined) return undefined;
  return (usage.input * price.input + usage.output * price.output) / TOKENS_PER_PRICE;
}

/** A decimal without an exponent, as `x-ants-cost` has it (H2). */
export function formatCost(usd: number): string {
  const fixed = usd.toFixed(12);
  return fixed.includes(".") ? fixed.replace(/\.?0+$/, "") : fixed;
}

export function usageToWire(usage: TokenUsage): WireUsage {
  return create(TokenUsageSchema, {
    input: BigInt(Math.round(usage.input)),
    output: BigInt(Math.round(usage.output)),
    cached: BigInt(Math.round(usage.cached)),
    reasoning: BigInt(Math.round(usage.reasoning)),
  });
}
