import type { Bench } from "../domain/bench.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { RefuseDecision } from "../domain/decision.ts";
import { maxCalls, maxDeployments, type Progress } from "../escalation/progress.ts";
import type { Budget } from "./budget.ts";
import type { Trail } from "./explain.ts";
import type { DecideInput } from "./input.ts";
import { refuseBlocked, refuseCancelled, refuseExhausted, refuseLate, refuseTimedOut } from "./refusals.ts";

/** What stays the same while one decision is made. */
export interface Run {
  readonly input: DecideInput;
  readonly asked: Group;
  readonly progress: Progress;
  readonly leftMs: number;
  readonly budget: Budget;
  /** E2's bench, where the last attempt's provider asked for one. */
  readonly bench: Bench | undefined;
  readonly trail: Trail | undefined;
}

/** E4, E8, E10, E11: whether a deployment that was not called yet may be. */
export function mayCallAnother(run: Run): boolean {
  const { asked, progress } = run;
  const { facts } = run.input.request;
  return (
    run.leftMs > 0 &&
    progress.calls < maxCalls(asked.policy, facts) &&
    progress.deployments < maxDeployments(asked.policy, facts)
  );
}

/** Section 7: whether a fallback group may serve; a native endpoint is forwarded in the group asked for, or not at all. */
export function mayHop(run: Run): boolean {
  return run.input.request.facts.endpoint !== "native" && mayCallAnother(run);
}

/** The refusal once nothing more may be called: E7's after a call, R10's where only credentials were missing. */
export function outOfTries(run: Run, group: Group): RefuseDecision {
  const { lastCall, last } = run.progress;
  if (lastCall !== undefined) return refuseExhausted(group, lastCall, undefined);
  if (last !== undefined) return refuseBlocked(run.input, group, "not_ready", undefined);
  return refuseLate(group);
}

/** E7: what was called comes before why nothing more can be; a deployment without credential was not called (R10). */
export function settle(run: Run, refusal: RefuseDecision): RefuseDecision {
  const { lastCall, last } = run.progress;
  const group = refusal.group ?? run.asked;
  if (lastCall !== undefined) return refuseExhausted(group, lastCall, refusal.retryAfterMs);
  if (last !== undefined && refusal.retryAfterMs === undefined) {
    return refuseBlocked(run.input, group, "not_ready", undefined);
  }
  return refusal;
}

/** The refusal of a stop that no limit made. */
export function stopped(run: Run, group: Group, why: "cancelled" | "returned" | "timed_out"): RefuseDecision {
  if (why === "cancelled") return refuseCancelled(group);
  return why === "timed_out" ? refuseTimedOut(group) : outOfTries(run, group);
}
