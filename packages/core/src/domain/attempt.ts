import type { ErrorClass } from "./error-class.ts";
import type { EpochMs } from "./ports.ts";

/** One call to one deployment that has ended without serving the caller. */
export interface FailedAttempt {
  /** Id of the decision that asked for it. Outcomes quote it, and are deduplicated by it. */
  readonly decision: string;
  /** {@link Group.key} of the group it was made for. */
  readonly group: string;
  readonly deployment: string;
  readonly error: ErrorClass;
  /** HTTP status, where the provider answered. */
  readonly status: number | undefined;
  /** What the provider asked to wait, in ms from the end of the attempt (E2). */
  readonly retryAfterMs: number | undefined;
  readonly startedAt: EpochMs;
  readonly endedAt: EpochMs;
}

/**
 * Whether it was a call to a provider: a deployment found without its credential (R10) moves the request on,
 * but uses neither an attempt nor one of `max_deployments`.
 */
export function wasCalled(attempt: FailedAttempt): boolean {
  return attempt.error !== "not_ready";
}

/** What `x-ants-attempts` calls an attempt's end (H1). */
export type AttemptOutcome = "ok" | "retryable" | "failed" | "timeout" | "benched";

/** A move to a fallback group (section 7). */
export interface Hop {
  /** {@link Group.key} of the group moved to. */
  readonly group: string;
  readonly kind: FallbackKind;
}

/** Which list of fallback groups a hop went by: the general one, or the one of the error's kind. */
export type FallbackKind = "general" | "context" | "content" | "quota";

/**
 * What has happened to a request so far. Empty on the first decision; later ones get it back through the
 * router's authenticated continuation, so that it is not the caller's to invent.
 */
export interface History {
  /** {@link Group.key} of the group asked for; undefined before admission. */
  readonly asked: string | undefined;
  readonly hops: readonly Hop[];
  readonly attempts: readonly FailedAttempt[];
  /** Group keys in which R7's last resort was used. */
  readonly lastResorts: readonly string[];
  /** Whether it was hedged, which it is once at most; false when left out. */
  readonly hedged?: boolean | undefined;
}

export const EMPTY_HISTORY: History = { asked: undefined, hops: [], attempts: [], lastResorts: [] };

/** A call that was decided and runs. */
export type RunningAttempt = Pick<FailedAttempt, "decision" | "group" | "deployment" | "startedAt">;

/** The history with one more failed attempt: what the next call of `decide` must bring. */
export function appendAttempt(history: History, attempt: FailedAttempt): History {
  return { ...history, attempts: [...history.attempts, attempt] };
}
