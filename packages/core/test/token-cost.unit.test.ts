import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { tokenCost, type Price, type TokenCounts } from "../src/index.ts";

const MILLION = 1_000_000;
const ALL: Price = {
  input: 2,
  output: 8,
  cachedInput: 0.5,
  cacheWrite: 2.5,
  audioInput: 32,
  audioOutput: 64,
};
const PLAIN: Price = { input: 2, output: 8 };

const tokens = fc.integer({ min: 0, max: 1_000_000 });
/** Counts whose parts fit. */
const counts: fc.Arbitrary<Required<TokenCounts>> = fc
  .tuple(tokens, tokens, tokens, tokens, tokens, tokens, tokens)
  .map(([fresh, cached, cacheWritten, audioInput, written, reasoning, audioOutput]) => ({
    input: fresh + cached + cacheWritten + audioInput,
    output: written + reasoning + audioOutput,
    cached,
    cacheWritten,
    audioInput,
    reasoning,
    audioOutput,
  }));
const millionths = fc.integer({ min: 0, max: 1000 * MILLION }).map((price) => price / MILLION);
const prices: fc.Arbitrary<Price> = fc.record(
  {
    input: millionths,
    output: millionths,
    cachedInput: millionths,
    cacheWrite: millionths,
    audioInput: millionths,
    audioOutput: millionths,
  },
  { requiredKeys: ["input", "output"] },
);

describe("tokenCost", () => {
  it.each<[string, Partial<TokenCounts>, number]>([
    ["input", { input: MILLION }, 2],
    ["output", { output: MILLION }, 8],
    ["input from a cache", { input: MILLION, cached: MILLION / 2 }, 1 + 0.25],
    ["input to a cache", { input: MILLION, cacheWritten: MILLION / 2 }, 1 + 1.25],
    ["audio that is heard", { input: MILLION, audioInput: MILLION / 2 }, 1 + 16],
    ["audio that is spoken", { output: MILLION, audioOutput: MILLION / 2 }, 4 + 32],
    ["reasoning, as output", { output: MILLION, reasoning: MILLION / 2 }, 8],
    [
      "all at once",
      { input: 4 * MILLION, cached: MILLION, cacheWritten: MILLION, audioInput: MILLION, output: MILLION },
      2 + 0.5 + 2.5 + 32 + 8,
    ],
  ])("prices each token once: %s", (_what, used, usd) => {
    expect(tokenCost({ input: 0, output: 0, ...used }, ALL)).toBe(usd);
  });

  it("a kind without a price of its own costs what its whole does", () => {
    fc.assert(
      fc.property(counts, (used) => {
        const { input, output } = used;
        expect(tokenCost(used, PLAIN)).toBe(tokenCost({ input, output }, PLAIN));
      }),
    );
  });

  it("a kind may be free", () => {
    expect(tokenCost({ input: 10, output: 0, cached: 10 }, { ...PLAIN, cachedInput: 0 })).toBe(0);
  });

  it("is linear: an answer twice as large costs twice as much, two answers cost their sum", () => {
    fc.assert(
      fc.property(counts, counts, prices, (one, other, price) => {
        const add = (name: keyof TokenCounts): number => one[name] + other[name];
        const both: TokenCounts = {
          input: add("input"),
          output: add("output"),
          cached: add("cached"),
          cacheWritten: add("cacheWritten"),
          audioInput: add("audioInput"),
          reasoning: add("reasoning"),
          audioOutput: add("audioOutput"),
        };
        const sum = tokenCost(one, price) + tokenCost(other, price);
        expect(Math.abs(tokenCost(both, price) - sum)).toBeLessThanOrEqual(1e-9 * Math.max(1, sum));
      }),
    );
  });

  it("is never negative and never more than the dearest kind's, whatever the parts claim", () => {
    const claimed = fc.oneof(
      tokens,
      fc.integer({ min: -MILLION, max: -1 }),
      fc.constant(Number.MAX_SAFE_INTEGER),
    );
    const claims = fc.record(
      {
        input: claimed,
        output: claimed,
        cached: claimed,
        cacheWritten: claimed,
        audioInput: claimed,
        reasoning: claimed,
        audioOutput: claimed,
      },
      { requiredKeys: ["input", "output"] },
    );
    fc.assert(
      fc.property(claims, prices, (used, price) => {
        const { input, output, cachedInput = 0, cacheWrite = 0, audioInput = 0, audioOutput = 0 } = price;
        const dearest: Price = {
          input: Math.max(input, cachedInput, cacheWrite, audioInput),
          output: Math.max(output, audioOutput),
        };
        const most = tokenCost({ input: Math.max(0, used.input), output: Math.max(0, used.output) }, dearest);
        const cost = tokenCost(used, price);
        expect(cost).toBeGreaterThanOrEqual(0);
        expect(cost).toBeLessThanOrEqual(most * (1 + 1e-9));
      }),
    );
  });
});
