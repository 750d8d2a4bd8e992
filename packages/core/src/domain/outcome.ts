import type { ErrorClass } from "./error-class.ts";
import type { EpochMs } from "./ports.ts";

/** How one attempt ended, as forwarders report it to health and routers (invariant 3: exactly one each). */
export interface Outcome {
  /** Id of the decision; outcomes are deduplicated by it. */
  readonly decision: string;
  readonly group: string;
  readonly deployment: string;
  /** Absent when it went well. */
  readonly error: ErrorClass | undefined;
  readonly status: number | undefined;
  /** Usable wait that the provider asked for, ms from `at`. */
  readonly retryAfterMs: number | undefined;
  /** When the decision was made: a success counts as a probe's only when decided during the bench (B4). */
  readonly decidedAt: EpochMs;
  readonly at: EpochMs;
  readonly probe: boolean;
  /** E9: made with the caller's own key, so that the state of its account says nothing about ours. */
  readonly ownKey: boolean;
}
