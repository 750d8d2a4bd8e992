/** Benches that one failure makes (B2), as the bench table names them. */
import type { AtOnce } from "../domain/bench-table.ts";
import type { ErrorClass } from "../domain/error-class.ts";
import type { BenchPolicy } from "../domain/policy.ts";

/** Longest wait that is learned, ms, where the policy has no bound of its own. */
export const MAX_LEARNED_MS = 3_600_000;

/**
 * How long a class benches at once, ms; 0 = not at all.
 *
 * @param learned what the provider last asked for, where it has asked for anything
 */
export function benchMs(
  atOnce: AtOnce,
  policy: BenchPolicy,
  retryAfterMs: number | undefined,
  learned: number | undefined,
): number {
  if (atOnce.ms === "quota_cooloff") return policy.quotaCooloffMs;
  if (atOnce.ms === "rate_limit_skip") return rateLimitSkipMs(policy, retryAfterMs, learned);
  return atOnce.ms;
}

/** B2: what the provider asked for, within bounds, else what was learned or the default; 0 where there is no such skip. */
function rateLimitSkipMs(
  { rateLimitSkip }: BenchPolicy,
  retryAfterMs: number | undefined,
  learned: number | undefined,
): number {
  const { defaultMs, maxMs, learn } = rateLimitSkip;
  if (defaultMs <= 0) return 0;
  const asked = isUsable(retryAfterMs) ? retryAfterMs : learn === true ? learned : undefined;
  if (asked === undefined) return defaultMs;
  return maxMs > 0 ? Math.min(asked, maxMs) : asked;
}

/** `rate_limit_skip.learn`: remembers what a provider asked to wait, for the time when it asks for nothing. */
export function learnedWaits(
  before: ReadonlyMap<string, number> | undefined,
  policy: BenchPolicy,
  error: ErrorClass,
  retryAfterMs: number | undefined,
  provider: string,
): ReadonlyMap<string, number> | undefined {
  if (policy.rateLimitSkip.learn !== true || error !== "rate_limited" || !isUsable(retryAfterMs))
    return before;
  const ms = Math.min(retryAfterMs, MAX_LEARNED_MS);
  return before?.get(provider) === ms ? before : new Map(before).set(provider, ms);
}

function isUsable(ms: number | undefined): ms is number {
  return ms !== undefined && ms > 0 && Number.isFinite(ms);
}
