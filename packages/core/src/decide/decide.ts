/**
 * Start here. One routing decision: admit → resolve → filter → place → escalate, as one pure function.
 *
 * Invariant 1: no I/O, no clock, no state. Whatever a decision depends on is in its input, whatever it changes comes
 * back as effects, so it replays bit for bit. After a failed attempt the caller asks again with the attempt
 * appended to the history, and every later pick sees fresh health (section 2).
 */
import type { FailedAttempt, FallbackKind, History } from "../domain/attempt.ts";
import type { Bench } from "../domain/bench.ts";
import { groupOf, type Group } from "../domain/config-snapshot.ts";
import type { AttemptDecision, Decided, Decision, Effect, RefuseDecision } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import { draw } from "../domain/random.ts";
import { MAX_WAIT_MS } from "../escalation/backoff.ts";
import { benchUntilAsked, nextStep } from "../escalation/next-step.ts";
import { maxCalls, maxDeployments, progressOf, type Progress } from "../escalation/progress.ts";
import { attemptTimeoutMs, timeLeftMs } from "../escalation/time.ts";
import { outcomeName } from "../trace/attempt-outcome.ts";
import { admit } from "./admit.ts";
import { createTrail, type Trail } from "./explain.ts";
import { fallbackGroup } from "./fallback.ts";
import { deploymentOf, filterGroup, isReusable, triedElsewhere, type Filtered } from "./filter.ts";
import type { DecideInput } from "./input.ts";
import { nextAfter, placeIn } from "./place.ts";
import {
  isBlocked,
  refuseBlocked,
  refuseCancelled,
  refuseExhausted,
  refuseLate,
  refuseTimedOut,
} from "./refusals.ts";

/** What stays the same while one decision is made. */
interface Run {
  readonly input: DecideInput;
  readonly asked: Group;
  readonly progress: Progress;
  readonly leftMs: number;
  /** What an effect of the escalation adds: E2's bench. */
  readonly bench: Bench | undefined;
  readonly trail: Trail | undefined;
}

/** One decision; see {@link DecideInput} for what it goes by and {@link Decided} for what it answers. */
export function decide(input: DecideInput): Decided {
  const trail = input.explain ? createTrail(input) : undefined;
  const asked = admit(input);
  if ("kind" in asked) return refused(input, asked, input.history, undefined, trail);
  const history: History =
    input.history.asked === undefined ? { ...input.history, asked: asked.key } : input.history;
  const progress = progressOf(history);
  const leftMs = timeLeftMs(asked.policy, input.request.facts, input.now);
  const { last } = progress;
  if (last === undefined) {
    const run: Run = { input, asked, progress, leftMs, bench: undefined, trail };
    return pickFrom(run, history, asked, "pick", undefined);
  }
  return escalate(input, asked, history, progress, last, leftMs, trail);
}

/** E3: the same deployment while retries remain → the next eligible one → a fallback group. */
function escalate(
  input: DecideInput,
  asked: Group,
  history: History,
  progress: Progress,
  last: FailedAttempt,
  leftMs: number,
  trail: Trail | undefined,
): Decided {
  const current = groupOf(input.config, last.group) ?? asked;
  const deployment = deploymentOf(current, last.deployment);
  const { facts } = input.request;
  const until =
    facts.ownKeyProvider === undefined ? benchUntilAsked(current.policy, last, leftMs, input.now) : undefined;
  const bench =
    until === undefined || deployment === undefined
      ? undefined
      : askedBench(current, deployment, until, input.now);
  const run: Run = { input, asked, progress, leftMs, bench, trail };
  const step = nextStep({
    policy: current.policy,
    endpoint: facts.endpoint,
    attempt: last,
    now: input.now,
    timeLeftMs: leftMs,
    retries: progress.retries,
    callsLeft: progress.calls < maxCalls(asked.policy, facts),
    reusable: deployment !== undefined && bench === undefined && isReusable(input, current, deployment),
    draw: draw(input.seed, "jitter", history.attempts.length),
  });
  trail?.step(step, last);
  switch (step.kind) {
    case "stop":
      return refused(input, stopped(run, current, step.why), history, run.bench, trail);
    case "again":
      if (deployment === undefined) break;
      return retryAt(run, history, current, deployment, step.delayMs);
    case "hop":
      return hopFrom(run, history, current, step.fallback, undefined);
    case "next":
      break;
  }
  return pickFrom(run, history, current, "failover", undefined);
}

/**
 * The next eligible deployment of `group`; where there is none, R7's last resort, a fallback group, or a refusal.
 *
 * @param standing refusal of a group before this one, which stands when no fallback can serve
 */
function pickFrom(
  run: Run,
  history: History,
  group: Group,
  step: AttemptDecision["step"],
  standing: RefuseDecision | undefined,
): Decided {
  const { input } = run;
  if (!mayCallAnother(run)) return refused(input, outOfTries(run, group), history, run.bench, run.trail);
  const elsewhere = triedElsewhere(input.config, history, group);
  const found = filterGroup(input, group, elsewhere);
  const waitMs =
    step === "failover" && run.progress.last?.error !== "not_ready" ? group.policy.failover.waitMs : 0;
  if (waitMs > 0 && waitMs >= Math.min(run.leftMs, MAX_WAIT_MS)) {
    return refused(input, outOfTries(run, group), history, run.bench, run.trail);
  }
  if (found.eligible !== 0) {
    const placed = placeIn(input, group, history, found.eligible);
    run.trail?.group(group, history, found, elsewhere, placed.index, placed.draw);
    return attempt(run, history, group, found, placed.index, step, waitMs, placed.next, placed.effect);
  }
  if (isLastResortOpen(group, history, found)) {
    run.trail?.group(group, history, found, elsewhere, found.soonest, undefined);
    const noted: History = { ...history, lastResorts: [...history.lastResorts, group.key] };
    return attempt(run, noted, group, found, found.soonest, "last_resort", 0, undefined, undefined);
  }
  run.trail?.group(group, history, found, elsewhere, -1, undefined);
  return blocked(run, history, group, found, standing);
}

/** R1: the filter that emptied the set says whether a fallback group may serve, and how to refuse if none can. */
function blocked(
  run: Run,
  history: History,
  group: Group,
  found: Filtered,
  standing: RefuseDecision | undefined,
): Decided {
  const { facts } = run.input.request;
  const stage = isBlocked(found.stage) ? found.stage : "benched";
  const retryAfterMs =
    found.soonest < 0 ? undefined : Math.max(1, Math.ceil(found.soonestUntil - run.input.now));
  // The caller asked for the first group: its refusal tells more than that of a fallback.
  const refusal = standing ?? refuseBlocked(group, facts, stage, retryAfterMs);
  const hops = stage === "not_ready" || stage === "tried" || stage === "benched";
  // R5 and R6 refuse at the group asked for; a fallback group that cannot serve is only passed over.
  if (hops || group.key !== run.asked.key) return hopFrom(run, history, group, "general", refusal);
  return refused(run.input, settle(run, refusal), history, run.bench, run.trail);
}

/** Section 7: moves to a fallback group, or gives the refusal that stands without one. */
function hopFrom(
  run: Run,
  history: History,
  current: Group,
  kind: FallbackKind,
  refusal: RefuseDecision | undefined,
): Decided {
  const { input, asked } = run;
  const target = mayCallAnother(run) ? fallbackGroup(input.config, history, asked, current, kind) : undefined;
  if (target === undefined) {
    const stands = settle(run, refusal ?? outOfTries(run, current));
    return refused(input, stands, history, run.bench, run.trail);
  }
  run.trail?.hop(target.key, kind);
  const hopped: History = { ...history, hops: [...history.hops, { group: target.key, kind }] };
  return pickFrom(run, hopped, target, "hop", refusal);
}

/** E1: the same deployment again after a wait. */
function retryAt(run: Run, history: History, group: Group, deployment: Deployment, delayMs: number): Decided {
  const { input } = run;
  const elsewhere = triedElsewhere(input.config, history, group);
  const found = filterGroup(input, group, elsewhere);
  const index = group.deployments.indexOf(deployment);
  run.trail?.group(group, history, found, elsewhere, index, undefined);
  const next = nextAfter(input, group, history, found.eligible, index);
  return attempt(run, history, group, found, index, "retry", delayMs, next, undefined);
}

/** The decision to call one deployment, with its times (E5, E10). */
function attempt(
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
  return answer(run.input, decision, effects, history, run.bench, run.trail);
}

/**
 * How long a lease outlives its attempt's time-out, ms: answers stream on after their headers, and a lease that
 * nobody ends must not count for ever.
 */
export const LEASE_MS = 600_000;

const NO_EFFECTS: readonly Effect[] = [];

function refused(
  input: DecideInput,
  refusal: RefuseDecision,
  history: History,
  bench: Bench | undefined,
  trail: Trail | undefined,
): Decided {
  return answer(input, refusal, NO_EFFECTS, history, bench, trail);
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

/** E4, E8, E10, E11: whether a deployment that was not called yet may be. */
function mayCallAnother(run: Run): boolean {
  const { asked, progress } = run;
  const { facts } = run.input.request;
  return (
    run.leftMs > 0 &&
    progress.calls < maxCalls(asked.policy, facts) &&
    progress.deployments < maxDeployments(asked.policy, facts)
  );
}

/** R7: once per group, and only when nothing was tried there yet. */
function isLastResortOpen(group: Group, history: History, found: Filtered): boolean {
  return (
    found.soonest >= 0 &&
    group.policy.bench.whenAllBenched === "try_soonest" &&
    !history.lastResorts.includes(group.key) &&
    !history.attempts.some((attempt) => attempt.group === group.key)
  );
}

function outOfTries(run: Run, group: Group): RefuseDecision {
  const { lastCall, last } = run.progress;
  if (lastCall !== undefined) return refuseExhausted(group, lastCall, undefined);
  if (last !== undefined) return refuseBlocked(group, run.input.request.facts, "not_ready", undefined);
  return refuseLate(group);
}

/** E7: what was called comes before why nothing more can be; a deployment without credential was not called (R10). */
function settle(run: Run, refusal: RefuseDecision): RefuseDecision {
  const { lastCall, last } = run.progress;
  const group = refusal.group ?? run.asked;
  if (lastCall !== undefined) return refuseExhausted(group, lastCall, refusal.retryAfterMs);
  if (last !== undefined && refusal.retryAfterMs === undefined) {
    return refuseBlocked(group, run.input.request.facts, "not_ready", undefined);
  }
  return refusal;
}

function stopped(run: Run, group: Group, why: "cancelled" | "returned" | "timed_out"): RefuseDecision {
  switch (why) {
    case "cancelled":
      return refuseCancelled(group);
    case "timed_out":
      return refuseTimedOut(group);
    case "returned":
      return outOfTries(run, group);
  }
}

/** E2's bench, in the scope of the group's own benches. */
function askedBench(group: Group, deployment: Deployment, until: number, now: number): Bench {
  const { scope } = group.policy.bench;
  return { key: deployment.scopes[scope], scope, until, since: now, reason: "retry_after", group: group.key };
}
