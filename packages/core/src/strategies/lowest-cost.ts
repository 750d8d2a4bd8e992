import { expectedInputTokens, expectedOutputTokens } from "../domain/expected-tokens.ts";
import { measured } from "./measured.ts";

const MILLION = 1_000_000;

/** S3: lowest expected price of this request, USD; a deployment without a price comes after all that have one. */
export const lowestCost = measured({
  cost({ facts }, { price }) {
    if (price === undefined) return Number.POSITIVE_INFINITY;
    const { input, output } = price;
    return (expectedInputTokens(facts) * input + expectedOutputTokens(facts) * output) / MILLION;
  },
  band: 0,
  explores: true,
  spreadsByLoad: false,
});
