import type { BudgetLevel } from "../domain/load.ts";
import type { RetryBudgetPolicy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";

/** What a budget was given is forgotten at this pace, ms: a quiet night saves up no storm of retries. */
export const BUDGET_WINDOW_MS = 10_000;

/**
 * What a group's retry budget holds at `now`: each request puts `share` in, `perSecond` flows in by itself, each
 * further call takes 1 out, and all of it fades, so that over any window further calls stay within `share` of the
 * requests and `perSecond` a second. A new one is full as if nothing had been asked.
 *
 * Routers keep one each. Shares add up over the cluster by themselves; `perSecond` is divided among `routers`.
 */
export function budgetLevel(
  before: BudgetLevel | undefined,
  policy: RetryBudgetPolicy,
  routers: number,
  now: EpochMs,
): number {
  const full = ((policy.perSecond / Math.max(1, routers)) * BUDGET_WINDOW_MS) / 1_000;
  if (before === undefined) return full;
  const kept = Math.exp(-Math.max(0, now - before.at) / BUDGET_WINDOW_MS);
  return before.level * kept + full * (1 - kept);
}
