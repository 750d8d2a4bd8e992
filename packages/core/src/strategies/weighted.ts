import { drawByWeight, heaviest, shareByWeight, totalWeight } from "./by-weight.ts";
import type { Choice, StrategyRule } from "./strategy.ts";

/**
 * S1: in proportion to weight. Under `zero_weight: off` no deployment of weight 0 gets here; under `standby` they
 * do, and take a request only when nothing of any weight is left, in the order of the list.
 */
export const weighted: StrategyRule = {
  keeps: "nothing",
  pick({ deployments, eligible, draw }: Choice): number {
    if (totalWeight(deployments, eligible) === 0) return heaviest(deployments, eligible);
    return drawByWeight(deployments, eligible, draw);
  },
  score({ deployments, eligible }: Choice, index: number): number {
    if (totalWeight(deployments, eligible) > 0) return shareByWeight(deployments, eligible, index);
    return heaviest(deployments, eligible) === index ? 1 : 0;
  },
};
