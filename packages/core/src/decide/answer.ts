import type { History } from "../domain/attempt.ts";
import type { Bench } from "../domain/bench.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { AttemptDecision, Decided, Decision, Effect, RefuseDecision } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import { attemptTimeoutMs } from "../escalation/time.ts";
import { outcomeName } from "../trace/attempt-outcome.ts";
import type { Trail } from "./explain.ts";
import type { Filtered } from "./filter.ts";
import type { DecideInput } from "./input.ts";
import type { Run } from "./run.ts";

/**
 * How long a lease outlives its attempt's time-out, ms: answers stream on after their headers, and a lease that
 * nobody ends must not count for ever.
 */
export const LEASE_MS = 600_000;

const NO_EFFECTS: readonly Effect[] = [];

/** The decision to call one deployment, with its times (E5, E10). */
export function attemptAt(
  run: Run,
  history: History,
  group: Group,
  found: Filtered,
  index: number,
  step: AttemptDecision["step"],
  delayMs: number,
  next: string | undefined,
  effect: Effect | undefined,
): Decided {
  const { input } = run;
  const deployment = group.deployments[index] as Deployment;
  const { policy } = group;
  const triedBefore = step === "retry" ? run.progress.deployments - 1 : run.progress.deployments;
  const timeoutMs = attemptTimeoutMs(
    policy,
    input.request.facts,
    run.leftMs - delayMs,
    triedBefore,
    found.candidates,
  );
  const decision: AttemptDecision = {
    kind: "attempt",
    group,
    deployment,
    delayMs,
    timeoutMs,
    connectTimeoutMs: policy.connectTimeoutMs,
    firstTokenTimeoutMs: policy.firstTokenTimeoutMs,
    streamIdleTimeoutMs: policy.streamIdleTimeoutMs,
    timeoutCoversBody: policy.timeoutCoversBody,
    lastResort: step === "last_resort",
    fallback: history.hops.length === 0 ? undefined : history.hops[history.hops.length - 1]?.kind,
    next,
    step,
  };
  const effects: Effect[] = [
    {
      kind: "lease",
      decision: input.decisionId,
      group: group.key,
      deployment: deployment.id,
      expiresAt: input.now + delayMs + timeoutMs + LEASE_MS,
    },
  ];
  if (effect !== undefined) effects.push(effect);
  return answer(input, decision, effects, history, run.bench, run.trail);
}

/** The decision to refuse. */
export function refuseWith(run: Run, refusal: RefuseDecision, history: History): Decided {
  return answer(run.input, refusal, NO_EFFECTS, history, run.bench, run.trail);
}

/** The refusal of a request that was not admitted: it has no group yet. */
export function refuseAtDoor(input: DecideInput, refusal: RefuseDecision, trail: Trail | undefined): Decided {
  return answer(input, refusal, NO_EFFECTS, input.history, undefined, trail);
}

function answer(
  input: DecideInput,
  decision: Decision,
  effects: readonly Effect[],
  history: History,
  bench: Bench | undefined,
  trail: Trail | undefined,
): Decided {
  const { attempts } = input.history;
  const last = attempts[attempts.length - 1];
  return {
    decision,
    effects: bench === undefined ? effects : [...effects, { kind: "bench", bench }],
    history,
    lastOutcome: last === undefined ? undefined : outcomeName(last.error, bench !== undefined),
    explanation: trail?.finish(decision),
  };
}
