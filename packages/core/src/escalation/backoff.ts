import type { RetryPolicy } from "../domain/policy.ts";

/** Longest wait before any attempt, ms, also where neither policy nor caller bounds the request. */
export const MAX_WAIT_MS = 300_000;

/**
 * E2: wait before a same-deployment retry, ms: exponential from `initialBackoffMs`, at most `maxBackoffMs`; with
 * jitter, uniform between half of that and all of it.
 *
 * @param retries same-deployment retries already made
 * @param draw in [0, 1)
 */
export function backoffMs(policy: RetryPolicy, retries: number, draw: number): number {
  const full = Math.min(policy.maxBackoffMs, policy.initialBackoffMs * policy.multiplier ** retries);
  return Math.round(policy.jitter ? full * (0.5 + draw / 2) : full);
}

/** Whether what a provider asked to wait can be used at all: a past date or nonsense cannot. */
export function isUsableWait(retryAfterMs: number | undefined): retryAfterMs is number {
  return retryAfterMs !== undefined && retryAfterMs > 0 && Number.isFinite(retryAfterMs);
}
