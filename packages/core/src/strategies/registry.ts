import type { Strategy } from "../domain/policy.ts";
import { roundRobin } from "./round-robin.ts";
import { shuffle } from "./shuffle.ts";
import type { StrategyRule } from "./strategy.ts";
import { weighted } from "./weighted.ts";

const RULES: Partial<Record<Strategy, StrategyRule>> = { weighted, shuffle, round_robin: roundRobin };

/** Strategies that can place a request. A config that names another one is refused when it is read. */
export const SUPPORTED_STRATEGIES: ReadonlySet<Strategy> = new Set(Object.keys(RULES) as Strategy[]);

/** The rule of a strategy; `weighted` for one that is not in {@link SUPPORTED_STRATEGIES}. */
export function strategyRule(strategy: Strategy): StrategyRule {
  return RULES[strategy] ?? weighted;
}
