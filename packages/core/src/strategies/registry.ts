import type { Strategy } from "../domain/policy.ts";
import { leastBusy } from "./least-busy.ts";
import { lowestCost } from "./lowest-cost.ts";
import { lowestLatency } from "./lowest-latency.ts";
import { lowestUsage } from "./lowest-usage.ts";
import { roundRobin } from "./round-robin.ts";
import { shuffle } from "./shuffle.ts";
import type { StrategyRule } from "./strategy.ts";
import { weighted } from "./weighted.ts";

const RULES: Readonly<Record<Strategy, StrategyRule>> = {
  weighted,
  round_robin: roundRobin,
  shuffle,
  least_busy: leastBusy,
  lowest_latency: lowestLatency,
  lowest_cost: lowestCost,
  lowest_usage: lowestUsage,
};

/** The rule of a strategy. */
export function strategyRule(strategy: Strategy): StrategyRule {
  return RULES[strategy];
}
