import { wasCalled, type FailedAttempt, type History } from "../domain/attempt.ts";
import type { RefusalCode, RefuseDecision } from "../domain/decision.ts";
import { MERIT_CLASSES, type ErrorClass, type ErrorClassSet } from "../domain/error-class.ts";

/** Refusals of our own that may be over in a moment. */
const PASSING: ReadonlySet<RefusalCode> = new Set<RefusalCode>([
  "rate_limit_exceeded",
  "upstream_unavailable",
  "upstream_unreachable",
  "upstream_timeout",
  "upstream_invalid_response",
]);

/** What a provider says again when it is asked again. */
const LASTING_CLASSES: ErrorClassSet = new Set<ErrorClass>([
  ...MERIT_CLASSES,
  "quota_exhausted",
  "auth",
  "permission",
  "not_found",
  "rejected",
  "not_implemented",
]);

/** Longest wait that SDKs heed, ms: a longer one makes some come back too soon, and others sleep through it. */
const LONGEST_WAIT_MS = 60_000;

/**
 * Whether the same request again can't help, so that the caller's SDK is to leave it: a refusal that lasts, the caller's
 * own mistake, an answer that every deployment called would repeat, a wait longer than SDKs wait, or a budget that is
 * spent. Where in doubt it is not.
 *
 * @param spent whether the attempts of the request or the retry budget of its group are used up
 */
export function isFinal(refusal: RefuseDecision, history: History, spent: boolean): boolean {
  const calls = history.attempts.filter(wasCalled);
  const last = calls.at(-1);
  if (isLong(refusal.retryAfterMs) || isLong(last?.retryAfterMs)) return true;
  if (last === undefined) return !PASSING.has(refusal.code);
  return spent || MERIT_CLASSES.has(last.error) || calls.every(lasts);
}

function isLong(ms: number | undefined): boolean {
  return ms !== undefined && ms > LONGEST_WAIT_MS;
}

function lasts({ error }: FailedAttempt): boolean {
  return LASTING_CLASSES.has(error);
}
