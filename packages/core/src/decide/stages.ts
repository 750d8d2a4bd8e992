import type { EpochMs } from "../domain/ports.ts";

/**
 * The filters of R1 in their order: a deployment's stage is the first that stops it, and the latest stage that any
 * deployment of a group reached is the filter that emptied it.
 */
export const STAGES = [
  "own_key",
  "endpoint",
  "not_ready",
  "paused",
  "tried",
  "limited",
  "benched",
  "eligible",
] as const;

/** The filter that stops a deployment, or `eligible`. */
export type Stage = (typeof STAGES)[number];

/** A stage that can be what emptied a group. */
export type Blocked = Exclude<Stage, "eligible">;

/** Whether a stage can be what emptied a group. */
export function isBlocked(stage: Stage): stage is Blocked {
  return stage !== "eligible";
}

/** What one pass over a group's deployments found. */
export interface Filtered {
  /** Bit i for `group.deployments[i]`. */
  readonly eligible: number;
  /** How many can serve the request, benched and already tried ones included. */
  readonly candidates: number;
  /** The filter that emptied the set; `eligible` when it did not. */
  readonly stage: Stage;
  /** Index of the benched candidate whose bench ends first, -1 without one, and when that is (R7). */
  readonly soonest: number;
  readonly soonestUntil: EpochMs;
  /** `bench.ramp`: those that this request is held back from; never all that could take it. Bits as in `eligible`. */
  readonly heldBack: number;
  /** B4: benched ones that this router may probe now. Bits as in `eligible`. */
  readonly probeable: number;
}
