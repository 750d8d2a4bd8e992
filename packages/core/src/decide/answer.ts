import type { History } from "../domain/attempt.ts";
import type { Bench } from "../domain/bench.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { AttemptDecision, Decided, Decision, Effect, RefuseDecision } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import { expectedTokens } from "../domain/expected-tokens.ts";
import { maxCalls } from "../escalation/progress.ts";
import { attemptTimeoutMs } from "../escalation/time.ts";
import { PROBE_MAX_MS } from "../health/probe.ts";
import { outcomeName } from "../trace/attempt-outcome.ts";
import type { Trail } from "./explain.ts";
import { hedgeAfterMs, hedgeShareOf } from "./hedge-share.ts";
import { isFinal } from "./final.ts";
import type { DecideInput } from "./input.ts";
import type { Placed } from "./place.ts";
import type { Run } from "./run.ts";
import type { Filtered } from "./stages.ts";

/**
 * How long a lease outlives its attempt's time-out, ms: answers stream on after their headers, and a lease that
 * nobody ends must not count for ever.
 */
export const LEASE_MS = 600_000;

const NO_EFFECTS: readonly Effect[] = [];

/** Where and how the next attempt is made. */
export interface NextAttempt {
  readonly group: Group;
  readonly found: Filtered;
  readonly placed: Pick<Placed, "index" | "next" | "affinity">;
  readonly step: AttemptDecision["step"];
  readonly delayMs: number;
  /** Counters that move on. */
  readonly effects: readonly Effect[];
  /** B4: scope keys of the benches that it probes; empty for all but probes. */
  readonly probes: readonly string[];
}

/** The decision to call one deployment, with its times (E5, E10). */
export function attemptAt(run: Run, history: History, attempt: NextAttempt): Decided {
  const { input } = run;
  const { group, found, placed, step, delayMs, probes } = attempt;
  const deployment = group.deployments[placed.index] as Deployment;
  const { policy } = group;
  const { facts } = input.request;
  const triedBefore = step === "retry" ? run.progress.deployments - 1 : run.progress.deployments;
  const timeoutMs = attemptTimeoutMs(policy, facts, run.leftMs - delayMs, triedBefore, found.candidates);
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
    probe: probes.length > 0,
    affinity: placed.affinity,
    fallback: history.hops.length === 0 ? undefined : history.hops[history.hops.length - 1]?.kind,
    next: facts.endpoint === "native" ? undefined : placed.next,
    step,
  };
  const hedgeAfter = hedgeAfterMs(input, history, decision);
  const startsAt = input.now + delayMs;
  const ownKey = facts.ownKeyProvider !== undefined;
  const effects: Effect[] = [
    {
      kind: "lease",
      decision: input.decisionId,
      group: group.key,
      deployment: deployment.id,
      load: deployment.scopes.model,
      startsAt,
      expiresAt: startsAt + timeoutMs + LEASE_MS,
      tokens: ownKey ? 0 : expectedTokens(facts),
      ownKey,
    },
  ];
  for (const effect of attempt.effects) effects.push(effect);
  const share = hedgeShareOf(input, group, step);
  if (share !== undefined) effects.push(share);
  if (probes.length > 0) effects.push(probeEffect(input, probes, startsAt, timeoutMs));
  if (run.budget.effect !== undefined) effects.push(run.budget.effect);
  const told = hedgeAfter === undefined ? decision : { ...decision, hedgeAfterMs: hedgeAfter };
  return answer(input, told, effects, history, run.bench, run.trail);
}

/** The slot of a probe, taken until its attempt's time is over at the latest (BH-08). */
function probeEffect(
  input: DecideInput,
  keys: readonly string[],
  startsAt: number,
  timeoutMs: number,
): Effect {
  const lastsMs = timeoutMs === 0 ? PROBE_MAX_MS : Math.min(timeoutMs, PROBE_MAX_MS);
  return { kind: "probe", decision: input.decisionId, keys, expiresAt: startsAt + lastsMs };
}

/** The decision to refuse; counters that moved on before it stay moved. */
export function refuseWith(
  run: Run,
  refusal: RefuseDecision,
  history: History,
  effects: readonly Effect[] = NO_EFFECTS,
): Decided {
  const { input, asked, progress, budget } = run;
  const { facts } = input.request;
  // A native endpoint is called once by rule, which says nothing about the next try of the caller's own.
  const calledOut = facts.endpoint !== "native" && progress.calls >= maxCalls(asked.policy, facts);
  const spent = calledOut || !budget.open;
  const told = { ...refusal, final: isFinal(refusal, input.history, spent) };
  return answer(input, told, effects, history, run.bench, run.trail);
}

/** The refusal of a request that was not admitted: it has no group yet. */
export function refuseAtDoor(input: DecideInput, refusal: RefuseDecision, trail: Trail | undefined): Decided {
  const told = { ...refusal, final: isFinal(refusal, input.history, false) };
  return answer(input, told, NO_EFFECTS, input.history, undefined, trail);
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
