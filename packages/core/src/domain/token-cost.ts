import type { Price } from "./deployment.ts";

/**
 * Tokens of one answer, whole numbers from 0. `cached`, `cacheWritten` and `audioInput` are parts of `input` and have no token in common;
 * so are `reasoning` and `audioOutput` of `output`. A part that is absent was not told.
 */
export interface TokenCounts {
  readonly input: number;
  readonly output: number;
  /** Read from the provider's cache. */
  readonly cached?: number;
  /** Written to the provider's cache, for however long it is kept. */
  readonly cacheWritten?: number;
  /** Audio that was heard, without what the cache gave of it. */
  readonly audioInput?: number;
  readonly reasoning?: number;
  readonly audioOutput?: number;
}

/** A price of one dollar for a million tokens is this many units for each: whole numbers add up exactly. */
const UNITS_PER_PRICE = 1_000_000;
const UNITS_PER_USD = 1_000_000_000_000;

/**
 * USD, exact where prices have at most six decimals. Each token is paid once: parts that claim more than their whole count up to it, so no
 * counts make a cost negative.
 */
export function tokenCost(counts: TokenCounts, price: Price): number {
  const { cachedInput = price.input, cacheWrite = price.input, audioInput = price.input } = price;
  const input = new Share(counts.input);
  const cached = input.take(counts.cached) * unitPrice(cachedInput);
  const written = input.take(counts.cacheWritten) * unitPrice(cacheWrite);
  const heard = input.take(counts.audioInput) * unitPrice(audioInput);
  const output = new Share(counts.output);
  const spoken = output.take(counts.audioOutput) * unitPrice(price.audioOutput ?? price.output);
  const plain = input.left * unitPrice(price.input) + output.left * unitPrice(price.output);
  return (plain + cached + written + heard + spoken) / UNITS_PER_USD;
}

/** Tokens that are given away part by part. */
class Share {
  left: number;

  constructor(whole: number) {
    this.left = Math.max(0, whole);
  }

  take(part = 0): number {
    const taken = Math.min(Math.max(0, part), this.left);
    this.left -= taken;
    return taken;
  }
}

function unitPrice(usdPerMillion: number): number {
  return Math.round(usdPerMillion * UNITS_PER_PRICE);
}
