import { MERIT_CLASSES } from "../domain/error-class.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { Effect } from "../domain/decision.ts";
import type { Progress } from "../escalation/progress.ts";
import { budgetLevel } from "../load/retry-budget.ts";
import type { DecideInput } from "./input.ts";

/** What the retry budget of the group asked for says to the next call of a request. */
export interface Budget {
  /** Whether the next call may be made. */
  readonly open: boolean;
  /** What the budget holds once it is made; undefined where it leaves the budget as it is. */
  readonly effect: Effect | undefined;
}

const OFF: Budget = { open: true, effect: undefined };

/**
 * `retry.budget` of the group asked for (G3): a request's first call puts its share in; each further one, the same
 * deployment again, another one or a `general` fallback group, takes 1 out and is not made where less is left. A
 * `context` or `content` fallback is free, for no outage brings it about; so is a move away from a deployment that was
 * not ready, where nothing was called (R10).
 */
export function budgetOf(input: DecideInput, asked: Group, progress: Progress): Budget {
  const policy = asked.policy.retry.budget;
  if (policy === undefined) return OFF;
  const { last, lastCall } = progress;
  const first = last === undefined;
  if (!first && (lastCall === undefined || MERIT_CLASSES.has(last.error))) return OFF;
  const { load, now } = input;
  const level = budgetLevel(load.budgets?.get(asked.key), policy, load.routers ?? 1, now);
  const left = first ? level + policy.share : level - 1;
  return {
    open: first || level >= 1,
    effect: { kind: "budget", group: asked.key, level: Math.max(0, left), at: now },
  };
}
