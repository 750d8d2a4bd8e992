import { countEligible, isEligible, nthEligible, type Choice, type StrategyRule } from "./strategy.ts";

/** S6: equal turns from a random start; after a failure the next in the list, without using a turn. */
export const roundRobin: StrategyRule = {
  keeps: "turn",
  pick({ deployments, eligible, draw, last, place }: Choice): number {
    if (last >= 0) return following(deployments.length, eligible, last);
    const count = countEligible(eligible);
    return nthEligible(eligible, place === undefined ? Math.floor(draw * count) : place % count);
  },
  score: ({ eligible }: Choice) => 1 / countEligible(eligible),
};

function following(length: number, eligible: number, last: number): number {
  for (let step = 1; step <= length; step += 1) {
    const index = (last + step) % length;
    if (isEligible(eligible, index)) return index;
  }
  return -1;
}
