import { drawByWeight, shareByWeight } from "./by-weight.ts";
import type { Choice, StrategyRule } from "./strategy.ts";

/** S5: uniform, which is what equal weights are (1 when left out), or in proportion to the weights given. */
export const shuffle: StrategyRule = {
  keepsPlace: false,
  pick: ({ deployments, eligible, draw }: Choice) => drawByWeight(deployments, eligible, draw),
  score: ({ deployments, eligible }: Choice, index: number) => shareByWeight(deployments, eligible, index),
};
