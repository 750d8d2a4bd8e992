import type { FailedAttempt } from "../domain/attempt.ts";
import { isNativeEndpoint, type Endpoint } from "../domain/endpoint.ts";
import { MERIT_CLASSES, RETRYABLE_CLASSES, type ErrorClass } from "../domain/error-class.ts";
import type { Policy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";
import { backoffMs, isUsableWait, MAX_WAIT_MS } from "./backoff.ts";

/** What to do after a failed attempt (E3), before the limits on deployments and hops are looked at. */
export type NextStep =
  | { readonly kind: "again"; readonly delayMs: number }
  | { readonly kind: "next" }
  | { readonly kind: "hop"; readonly fallback: "context" | "content" }
  | { readonly kind: "stop"; readonly why: "cancelled" | "returned" | "timed_out" };

/** What {@link nextStep} goes by. */
export interface Situation {
  /** Policy of the current group. */
  readonly policy: Policy;
  readonly endpoint: Endpoint;
  readonly attempt: FailedAttempt;
  readonly now: EpochMs;
  readonly timeLeftMs: number;
  /** Same-deployment retries already made at this deployment. */
  readonly retries: number;
  /** How many there may be. */
  readonly maxRetries: number;
  /** Whether a call is left of `max_attempts`. */
  readonly callsLeft: boolean;
  /** Whether the same deployment may still be called: not benched, paused or without a credential since. */
  readonly reusable: boolean;
  /** Draw in [0, 1) for the jitter. */
  readonly draw: number;
}

/** E1, E3, E8, E10, G4: the same deployment again, the next one, a fallback of the error's own, or stop. */
export function nextStep(situation: Situation): NextStep {
  const { policy, attempt } = situation;
  const { error } = attempt;
  if (error === "cancelled") return { kind: "stop", why: "cancelled" };
  if (error === "context_length") return { kind: "hop", fallback: "context" };
  if (error === "content_filter") return { kind: "hop", fallback: "content" };
  if (MERIT_CLASSES.has(error)) return { kind: "stop", why: "returned" };
  if (error === "timeout" && policy.onTimeout === "refuse") return { kind: "stop", why: "timed_out" };
  const delayMs = retryDelayMs(situation);
  if (delayMs !== undefined) return { kind: "again", delayMs };
  return moves(policy, situation.endpoint, error) ? { kind: "next" } : { kind: "stop", why: "returned" };
}

/**
 * E2: until when the deployment is benched because its provider asks for a longer wait than the request has time
 * for; undefined where it does not, or where the policy does not respect such wishes. What a provider may ask for
 * is bounded to {@link MAX_RETRY_AFTER_MS}.
 */
export function benchUntilAsked(
  policy: Policy,
  attempt: FailedAttempt,
  leftMs: number,
  now: EpochMs,
): EpochMs | undefined {
  if (!policy.retry.respectRetryAfter || !RETRYABLE_CLASSES.has(attempt.error)) return undefined;
  if (!isUsableWait(attempt.retryAfterMs)) return undefined;
  const until = attempt.endedAt + Math.min(attempt.retryAfterMs, MAX_RETRY_AFTER_MS);
  return until > now && until - now >= Math.min(leftMs, MAX_WAIT_MS) ? until : undefined;
}

/** Longest bench that a `Retry-After` makes, ms: one day. */
export const MAX_RETRY_AFTER_MS = 86_400_000;

/** Delay of a same-deployment retry, undefined where there is none. Merit and unretryable classes never are (E1). */
function retryDelayMs(situation: Situation): number | undefined {
  const { policy, attempt, retries, maxRetries } = situation;
  const { retry } = policy;
  if (!situation.reusable || !situation.callsLeft || retries >= maxRetries) return undefined;
  if (!RETRYABLE_CLASSES.has(attempt.error) || !retry.on.has(attempt.error)) return undefined;
  const delayMs =
    retry.respectRetryAfter && isUsableWait(attempt.retryAfterMs)
      ? Math.max(0, attempt.endedAt + attempt.retryAfterMs - situation.now)
      : backoffMs(retry, retries, situation.draw);
  return delayMs < Math.min(situation.timeLeftMs, MAX_WAIT_MS) ? delayMs : undefined;
}

/** Whether a class moves to another deployment; a deployment without its credential always does (R10). */
function moves(policy: Policy, endpoint: Endpoint, error: ErrorClass): boolean {
  if (error === "not_ready") return true;
  const { on, nativeOn } = policy.failover;
  return (nativeOn !== undefined && isNativeEndpoint(endpoint) ? nativeOn : on).has(error);
}
