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
import type { AttemptDecision, Decided, Effect, RefuseDecision } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import { MINUTE_MS } from "../domain/load.ts";
import { draw } from "../domain/random.ts";
import { MAX_WAIT_MS } from "../escalation/backoff.ts";
import { benchUntilAsked, nextStep } from "../escalation/next-step.ts";
import { maxCalls, maxRetries, progressOf, type Progress } from "../escalation/progress.ts";
import { timeLeftMs } from "../escalation/time.ts";
import { admit } from "./admit.ts";
import { attemptAt, refuseAtDoor, refuseWith } from "./answer.ts";
import { budgetOf } from "./budget.ts";
import { createTrail, type Trail } from "./explain.ts";
import { fallbackGroup } from "./fallback.ts";
import { deploymentOf, filterGroup, isReusable, triedElsewhere } from "./filter.ts";
import type { DecideInput } from "./input.ts";
import { hedgeBeside } from "./hedge.ts";
import { affinityOf, nextAfter, placeIn } from "./place.ts";
import { probeTurn } from "./probe.ts";
import { refuseBlocked } from "./refusals.ts";
import { mayCallAnother, mayHop, outOfTries, settle, stopped, type Run } from "./run.ts";
import { isBlocked, type Blocked, type Filtered } from "./stages.ts";
import { nearOrigin } from "./stored.ts";

const NO_EFFECTS: readonly Effect[] = [];

/** One decision; see {@link DecideInput} for what it goes by and {@link Decided} for what it answers. */
export function decide(input: DecideInput): Decided {
  const trail = input.explain ? createTrail(input) : undefined;
  const asked = admit(input);
  if ("kind" in asked) return refuseAtDoor(input, asked, trail);
  if (input.running !== undefined) return hedgeBeside(input, asked, input.running, trail);
  const history: History =
    input.history.asked === undefined ? { ...input.history, asked: asked.key } : input.history;
  const progress = progressOf(history);
  const leftMs = timeLeftMs(asked.policy, input.request.facts, input.now);
  const { last } = progress;
  if (last === undefined) {
    const budget = budgetOf(input, asked, progress);
    const run: Run = { input, asked, progress, leftMs, budget, bench: undefined, trail };
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
  const budget = budgetOf(input, asked, progress);
  const run: Run = { input, asked, progress, leftMs, budget, bench, trail };
  const step = nextStep({
    policy: current.policy,
    endpoint: facts.endpoint,
    attempt: last,
    now: input.now,
    timeLeftMs: leftMs,
    retries: progress.retries,
    maxRetries: maxRetries(current.policy, facts),
    callsLeft: progress.calls < maxCalls(asked.policy, facts),
    reusable: deployment !== undefined && bench === undefined && isReusable(input, current, deployment),
    draw: draw(input.seed, "jitter", history.attempts.length),
  });
  trail?.step(step, last);
  if (!budget.open && (step.kind === "again" || step.kind === "next")) {
    trail?.spent(asked.key);
    return refuseWith(run, outOfTries(run, current), history);
  }
  switch (step.kind) {
    case "stop":
      return refuseWith(run, stopped(run, current, step.why), history);
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
 * @param before counters that moved on in groups before this one
 */
function pickFrom(
  run: Run,
  history: History,
  group: Group,
  step: AttemptDecision["step"],
  standing: RefuseDecision | undefined,
  before: readonly Effect[] = NO_EFFECTS,
): Decided {
  const { input } = run;
  if (!mayCallAnother(run)) return refuseWith(run, outOfTries(run, group), history, before);
  const elsewhere = triedElsewhere(input.config, history, group);
  const found = nearOrigin(input, group, filterGroup(input, group, elsewhere));
  const waitMs =
    step === "failover" && run.progress.last?.error !== "not_ready" ? group.policy.failover.waitMs : 0;
  if (waitMs > 0 && waitMs >= Math.min(run.leftMs, MAX_WAIT_MS)) {
    return refuseWith(run, outOfTries(run, group), history, before);
  }
  const turn = probeTurn(input, group, history, found);
  const counted = turn === undefined ? before : [...before, ...turn.effects];
  if (turn !== undefined && turn.index >= 0) {
    const { index, keys: probes } = turn;
    run.trail?.group(group, history, found, elsewhere, index, undefined, true);
    const next = nextAfter(input, group, history, found.eligible, index, affinityOf(input, group));
    const placed = { index, next, affinity: undefined };
    return attemptAt(run, history, { group, found, placed, step, delayMs: waitMs, effects: counted, probes });
  }
  if (found.eligible !== 0) {
    const placed = placeIn(input, group, history, found.eligible);
    run.trail?.group(group, history, found, elsewhere, placed.index, placed.draw);
    const effects = placed.effect === undefined ? counted : [...counted, placed.effect];
    return attemptAt(run, history, { group, found, placed, step, delayMs: waitMs, effects, probes: [] });
  }
  if (isLastResortOpen(group, history, found)) {
    run.trail?.group(group, history, found, elsewhere, found.soonest, undefined);
    const noted: History = { ...history, lastResorts: [...history.lastResorts, group.key] };
    const placed = { index: found.soonest, next: undefined, affinity: undefined };
    const attempt = { group, found, placed, delayMs: 0, effects: counted, probes: [] };
    return attemptAt(run, noted, { ...attempt, step: "last_resort" });
  }
  run.trail?.group(group, history, found, elsewhere, -1, undefined);
  return blocked(run, history, group, found, standing, counted);
}

/** R1: the filter that emptied the set says whether a fallback group may serve, and how to refuse if none can. */
function blocked(
  run: Run,
  history: History,
  group: Group,
  found: Filtered,
  standing: RefuseDecision | undefined,
  counted: readonly Effect[],
): Decided {
  const stage = isBlocked(found.stage) ? found.stage : "benched";
  const retryAfterMs = waitOf(found, stage, run.input.now);
  // The caller asked for the first group: its refusal tells more than that of a fallback.
  const refusal = standing ?? refuseBlocked(run.input, group, stage, retryAfterMs);
  const hops = stage === "not_ready" || stage === "tried" || stage === "limited" || stage === "benched";
  // R5 and R6 refuse at the group asked for; a fallback group that cannot serve is only passed over.
  if (hops || group.key !== run.asked.key) return hopFrom(run, history, group, "general", refusal, counted);
  return refuseWith(run, settle(run, refusal), history, counted);
}

/** For `Retry-After`: until the soonest bench ends, or the minute that limits count in (S5). */
function waitOf(found: Filtered, stage: Blocked, now: number): number | undefined {
  if (stage === "limited") return MINUTE_MS - (now % MINUTE_MS);
  return found.soonest < 0 ? undefined : Math.max(1, Math.ceil(found.soonestUntil - now));
}

/** Section 7: moves to a fallback group, or gives the refusal that stands without one. */
function hopFrom(
  run: Run,
  history: History,
  current: Group,
  kind: FallbackKind,
  refusal: RefuseDecision | undefined,
  counted: readonly Effect[] = NO_EFFECTS,
): Decided {
  const { input, asked } = run;
  const target = mayHop(run) ? fallbackGroup(input.config, history, asked, current, kind) : undefined;
  if (target === undefined) {
    const stands = settle(run, refusal ?? outOfTries(run, current));
    return refuseWith(run, stands, history, counted);
  }
  run.trail?.hop(target.key, kind);
  const hopped: History = { ...history, hops: [...history.hops, { group: target.key, kind }] };
  return pickFrom(run, hopped, target, "hop", refusal, counted);
}

/** E1: the same deployment again after a wait. */
function retryAt(run: Run, history: History, group: Group, deployment: Deployment, delayMs: number): Decided {
  const { input } = run;
  const elsewhere = triedElsewhere(input.config, history, group);
  const found = filterGroup(input, group, elsewhere);
  const index = group.deployments.indexOf(deployment);
  run.trail?.group(group, history, found, elsewhere, index, undefined);
  const next = nextAfter(input, group, history, found.eligible, index, affinityOf(input, group));
  const placed = { index, next, affinity: undefined };
  return attemptAt(run, history, {
    group,
    found,
    placed,
    step: "retry",
    delayMs,
    effects: NO_EFFECTS,
    probes: [],
  });
}

/** R7: once per group, and only when nothing was tried there yet. */
function isLastResortOpen(group: Group, history: History, found: Filtered): boolean {
  return (
    found.soonest >= 0 &&
    group.policy.bench.whenAllBenched === "try_soonest" &&
    !history.lastResorts.includes(group.key) &&
    !history.attempts.some((one) => one.group === group.key)
  );
}

/** E2's bench, in the scope of the group's own benches. */
function askedBench(group: Group, deployment: Deployment, until: number, now: number): Bench {
  const { scope, ramp } = group.policy.bench;
  const bench: Bench = {
    key: deployment.scopes[scope],
    scope,
    until,
    since: now,
    reason: "retry_after",
    group: group.key,
  };
  return ramp === undefined || ramp.length === 0 ? bench : { ...bench, rampSteps: ramp.length };
}
