import type { Deployment } from "../domain/deployment.ts";

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
  /** S6: the round-robin place; undefined where none is kept yet, and for other strategies. */
  readonly place: number | undefined;
}

/** One way to choose (section 3): one file each, no state and no clock. */
export interface StrategyRule {
  /** Index of the chosen deployment; always one of `eligible`. */
  pick(choice: Choice): number;
  /** What the explanation shows for an eligible deployment (R8): its expected share, 0 to 1. */
  score(choice: Choice, index: number): number;
  /** Whether a place is kept for it, which every first pick moves on by one (S6). */
  readonly keepsPlace: boolean;
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
