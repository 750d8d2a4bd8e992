import type { Deployment } from "../domain/deployment.ts";
import type { DeploymentLoad } from "../domain/load.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { RequestFacts } from "../domain/request-facts.ts";

/**
 * The set that a strategy chooses from. Eligible deployments are bits of one number, bit i for `deployments[i]`
 * (a group has at most 32, R11), so that a choice allocates nothing.
 */
export interface Choice {
  readonly deployments: readonly Deployment[];
  /** Bit mask, never 0. */
  readonly eligible: number;
  /** The draw in [0, 1) of this choice. */
  readonly draw: number;
  /** Index of the deployment tried last in this group; -1 on the first pick. */
  readonly last: number;
  /** The counter that {@link StrategyRule.keeps} names; undefined where none is kept yet, and after the first pick. */
  readonly place: number | undefined;
  /** By load key, `deployment.scopes.model`; undefined where nothing is known of any. */
  readonly loads: ReadonlyMap<string, DeploymentLoad> | undefined;
  readonly facts: RequestFacts;
  readonly now: EpochMs;
}

/** One way to choose (section 3): one file each, no state and no clock. */
export interface StrategyRule {
  /** Index of the chosen deployment; always one of `eligible`. */
  pick(choice: Choice): number;
  /** What the explanation shows for an eligible deployment (R8), see `CandidateExplanation.score`. */
  score(choice: Choice, index: number): number;
  /** S4: whether this choice goes to a deployment without a history for that reason alone. */
  explores?(choice: Choice): boolean;
  /** The counter that every first pick moves on by one: `turn` of each caller (S6), `count` of the group (S4, S7). */
  readonly keeps: "nothing" | "turn" | "count";
}

/** Whether `index` is in the mask. */
export function isEligible(mask: number, index: number): boolean {
  return (mask & (1 << index)) !== 0;
}

/** How many are in the mask. */
export function countEligible(mask: number): number {
  let count = 0;
  for (let rest = mask; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}

/** Index of the `rank`-th in the mask, from 0; -1 when there are fewer. */
export function nthEligible(mask: number, rank: number): number {
  let rest = mask;
  for (let skipped = 0; skipped < rank; skipped += 1) rest &= rest - 1;
  return rest === 0 ? -1 : 31 - Math.clz32(rest & -rest);
}
