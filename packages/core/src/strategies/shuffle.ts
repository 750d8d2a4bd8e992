import type { Deployment, RateLimits } from "../domain/deployment.ts";
import { drawByWeight, shareByWeight } from "./by-weight.ts";
import { countEligible, isEligible, type Choice, type StrategyRule } from "./strategy.ts";

/**
 * S5: uniform, or in proportion to what is given: weights that differ (1 when left out), else requests a minute where
 * every eligible deployment has such a limit, else tokens a minute.
 */
export const shuffle: StrategyRule = {
  keeps: "nothing",
  pick(choice: Choice): number {
    const { deployments, eligible, draw } = choice;
    const limit = limitThatCounts(choice);
    if (limit === undefined) return drawByWeight(deployments, eligible, draw);
    let mark = draw * totalOf(choice, limit);
    let chosen = -1;
    for (let index = 0; index < deployments.length; index += 1) {
      if (!isEligible(eligible, index)) continue;
      chosen = index;
      mark -= deployments[index]?.limits?.[limit] ?? 0;
      if (mark < 0) return index;
    }
    return chosen;
  },
  score(choice: Choice, index: number): number {
    const { deployments, eligible } = choice;
    const limit = limitThatCounts(choice);
    if (limit === undefined) return shareByWeight(deployments, eligible, index);
    return (deployments[index]?.limits?.[limit] ?? 0) / totalOf(choice, limit);
  },
};

function limitThatCounts({ deployments, eligible }: Choice): keyof RateLimits | undefined {
  let withRpm = 0;
  let withTpm = 0;
  let weight: number | undefined;
  for (let index = 0; index < deployments.length; index += 1) {
    if (!isEligible(eligible, index)) continue;
    const one = deployments[index] as Deployment;
    if (weight !== undefined && one.weight !== weight) return undefined;
    weight = one.weight;
    if ((one.limits?.rpm ?? 0) > 0) withRpm += 1;
    if ((one.limits?.tpm ?? 0) > 0) withTpm += 1;
  }
  if (withRpm === 0 && withTpm === 0) return undefined;
  const count = countEligible(eligible);
  if (withRpm === count) return "rpm";
  return withTpm === count ? "tpm" : undefined;
}

function totalOf({ deployments, eligible }: Choice, limit: keyof RateLimits): number {
  let total = 0;
  for (let index = 0; index < deployments.length; index += 1) {
    if (isEligible(eligible, index)) total += deployments[index]?.limits?.[limit] ?? 0;
  }
  return total;
}
