/**
 * From outcomes to benches (section 6), as one pure step.
 *
 * Outcomes may come late, twice and in any order: what they bench is counted from their own time, so every replica
 * that has seen the same outcomes has the same benches (B6).
 */
import type { Bench, BenchReason, BenchScope, HealthSnapshot } from "../domain/bench.ts";
import { EMPTY_HEALTH } from "../domain/bench.ts";
import { groupOf, type ConfigSnapshot } from "../domain/config-snapshot.ts";
import type { DeploymentScopes } from "../domain/deployment.ts";
import { verdictOf, type ErrorClassSet, type ErrorClass } from "../domain/error-class.ts";
import type { Outcome } from "../domain/outcome.ts";
import { BENCH_TABLE } from "../domain/bench-table.ts";
import type { BenchPolicy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";
import {
  applyBench,
  benchByHand,
  endPolicyBench,
  pruneHealth,
  stepRampBack,
  unbenchByHand,
} from "./snapshot.ts";
import { benchMs, learnedWaits } from "./at-once.ts";
import { addFailure, type FailureWindow } from "./window.ts";

/** What the health service holds: benches, and the failures that may become one. Replaced, never edited. */
export interface HealthState {
  readonly snapshot: HealthSnapshot;
  /** By scope key. At most one per scope of the config, each of bounded length. */
  readonly windows: ReadonlyMap<string, FailureWindow>;
  /** What providers last asked to wait, ms, by provider scope (`rate_limit_skip.learn`). At most one each. */
  readonly learned?: ReadonlyMap<string, number> | undefined;
}

/** Where every health service and router begins. */
export const EMPTY_HEALTH_STATE: HealthState = { snapshot: EMPTY_HEALTH, windows: new Map() };

/** A change of a bench, for logs, metrics and the activity list. */
export interface Transition {
  readonly kind: "benched" | "extended" | "ended";
  readonly bench: Bench;
  /** What ended it; absent for the others. */
  readonly by: "time" | "probe" | "person" | undefined;
}

/** State after a step, and what changed. */
export interface Reduced {
  readonly state: HealthState;
  readonly transitions: readonly Transition[];
}

/** The bench policy and the scopes of a deployment of a group; undefined when the config knows no such. */
export type BenchLookup = (
  group: string,
  deployment: string,
) => { readonly bench: BenchPolicy; readonly scopes: DeploymentScopes } | undefined;

/** {@link BenchLookup} over a config, direct groups (R9) included. */
export function benchLookup(config: ConfigSnapshot): BenchLookup {
  return (group, deployment) => {
    const found = groupOf(config, group);
    const one = found?.deployments.find((candidate) => candidate.id === deployment);
    return found === undefined || one === undefined
      ? undefined
      : { bench: found.policy.bench, scopes: one.scopes };
  };
}

/** Classes that tell about the account of whoever's key was used, not about the provider. */
const ACCOUNT_CLASSES: ErrorClassSet = new Set<ErrorClass>([
  "rate_limited",
  "quota_exhausted",
  "auth",
  "permission",
  "not_found",
  "rejected",
]);

const NO_TRANSITIONS: readonly Transition[] = [];

/**
 * Whether an outcome can change any bench. A success that was no probe cannot, since windows slide; nor can the
 * caller's own mistakes and departures (invariant 4), nor the state of a caller's own account (E9). Senders may sum
 * or drop the others.
 */
export function affectsHealth(outcome: Outcome): boolean {
  if (outcome.error === undefined) return outcome.probe;
  if (outcome.ownKey && ACCOUNT_CLASSES.has(outcome.error)) return false;
  return verdictOf(outcome.error) === "failed";
}

/** One outcome. Of unknown deployments nothing is kept. */
export function reduce(state: HealthState, outcome: Outcome, lookup: BenchLookup, now: EpochMs): Reduced {
  if (!affectsHealth(outcome)) return { state, transitions: NO_TRANSITIONS };
  const found = lookup(outcome.group, outcome.deployment);
  if (found === undefined) return { state, transitions: NO_TRANSITIONS };
  if (outcome.error === undefined) return endByProbe(state, outcome, found.scopes, now);
  return countFailure(state, outcome, outcome.error, found.bench, found.scopes, now);
}

/** Many outcomes, as a batch from the bus brings them. */
export function reduceAll(
  state: HealthState,
  outcomes: Iterable<Outcome>,
  lookup: BenchLookup,
  now: EpochMs,
): Reduced {
  let current = state;
  let transitions: Transition[] | undefined;
  for (const outcome of outcomes) {
    if (!affectsHealth(outcome)) continue;
    const step = reduce(current, outcome, lookup, now);
    current = step.state;
    if (step.transitions.length > 0) (transitions ??= []).push(...step.transitions);
  }
  return { state: current, transitions: transitions ?? NO_TRANSITIONS };
}

/** A bench that a decision asked for (E2) or another replica observed. */
export function addBench(state: HealthState, bench: Bench, now: EpochMs): Reduced {
  return withBenches(state, state.windows, [bench], now);
}

/** A bench by a person; also one that ends sooner than the one it replaces. */
export function addManualBench(state: HealthState, bench: Bench): Reduced {
  const kind = state.snapshot.benches.get(bench.key)?.manual === undefined ? "benched" : "extended";
  const snapshot = benchByHand(state.snapshot, bench);
  return { state: { ...state, snapshot }, transitions: [{ kind, bench, by: undefined }] };
}

/** A person ends all benches of a scope, and its window starts anew. */
export function removeBenches(state: HealthState, key: string, now: EpochMs): Reduced {
  const entry = state.snapshot.benches.get(key);
  const transitions = [entry?.policy, entry?.manual]
    .filter((bench) => bench !== undefined && bench.until > now)
    .map((bench): Transition => ({ kind: "ended", bench: bench as Bench, by: "person" }));
  const snapshot = unbenchByHand(state.snapshot, key, now);
  return { state: { ...state, snapshot, windows: without(state.windows, [key]) }, transitions };
}

/** Lets time pass: forgets benches that are over and windows that have slid out. To be called about every second. */
export function expire(state: HealthState, now: EpochMs): Reduced {
  const transitions: Transition[] = [];
  for (const { policy, manual } of state.snapshot.benches.values()) {
    if (policy !== undefined && policy.until <= now)
      transitions.push({ kind: "ended", bench: policy, by: "time" });
    if (manual !== undefined && manual.until <= now)
      transitions.push({ kind: "ended", bench: manual, by: "time" });
  }
  const snapshot = pruneHealth(state.snapshot, now);
  const stale: string[] = [];
  for (const [key, window] of state.windows) if (window.staleAt <= now) stale.push(key);
  if (snapshot === state.snapshot && stale.length === 0) return { state, transitions: NO_TRANSITIONS };
  return { state: { ...state, snapshot, windows: without(state.windows, stale) }, transitions };
}

function countFailure(
  state: HealthState,
  outcome: Outcome,
  error: ErrorClass,
  policy: BenchPolicy,
  scopes: DeploymentScopes,
  now: EpochMs,
): Reduced {
  // A sender's clock may be ahead; a bench must not begin in the future.
  const at = Math.min(outcome.at, now);
  const make = (scope: BenchScope, reason: BenchReason, since: EpochMs, ms: number): Bench => ({
    key: scopes[scope],
    scope,
    until: since + ms,
    since,
    reason,
    group: outcome.group,
    ...(policy.ramp === undefined || policy.ramp.length === 0
      ? undefined
      : { rampSteps: policy.ramp.length }),
  });
  const rule = policy.table?.[error] ?? BENCH_TABLE[error];
  const benches: Bench[] = [];
  let { windows, snapshot } = state;
  const key = scopes[policy.scope];
  const clearedAt = state.snapshot.benches.get(key)?.policyClearedAt ?? 0;
  if (policy.failures > 0 && rule.counts && policy.on.has(error) && at > clearedAt) {
    const before = windows.get(key);
    const failure = { at, decision: outcome.decision };
    const { window, reachedAt } = addFailure(before, failure, policy.failures, policy.windowMs, clearedAt);
    if (window !== before) {
      windows = new Map(windows).set(key, window);
      for (const ramping of [scopes.deployment, scopes.model, scopes.provider]) {
        snapshot = stepRampBack(snapshot, ramping, at, now);
      }
    }
    if (reachedAt !== undefined) benches.push(make(policy.scope, "failures", reachedAt, policy.cooloffMs));
  }
  const learned = learnedWaits(state.learned, policy, error, outcome.retryAfterMs, scopes.provider);
  if (rule.atOnce !== undefined) {
    const ms = benchMs(rule.atOnce, policy, outcome.retryAfterMs, learned?.get(scopes.provider));
    if (ms > 0) benches.push(make(rule.atOnce.scope, rule.atOnce.reason, at, ms));
  }
  const same = snapshot === state.snapshot && learned === state.learned;
  return withBenches(same ? state : { ...state, snapshot, learned }, windows, benches, now);
}

/** B4: only benches that stood when the probe was decided; a late success of an older request proves nothing. */
function endByProbe(state: HealthState, outcome: Outcome, scopes: DeploymentScopes, now: EpochMs): Reduced {
  let { snapshot } = state;
  const ended: Transition[] = [];
  for (const key of [scopes.deployment, scopes.model, scopes.provider]) {
    const bench = snapshot.benches.get(key)?.policy;
    if (bench === undefined || outcome.decidedAt < bench.since) continue;
    snapshot = endPolicyBench(snapshot, key, Math.min(outcome.at, now));
    ended.push({ kind: "ended", bench, by: "probe" });
  }
  if (ended.length === 0) return { state, transitions: NO_TRANSITIONS };
  const windows = without(
    state.windows,
    ended.map(({ bench }) => bench.key),
  );
  return { state: { ...state, snapshot, windows }, transitions: ended };
}

function withBenches(
  state: HealthState,
  windows: HealthState["windows"],
  benches: readonly Bench[],
  now: EpochMs,
): Reduced {
  let { snapshot } = state;
  const transitions: Transition[] = [];
  for (const bench of benches) {
    const before = snapshot.benches.get(bench.key)?.policy;
    const next = applyBench(snapshot, bench, now);
    if (next === snapshot) continue;
    snapshot = next;
    const stood = before !== undefined && before.until > now;
    const made = snapshot.benches.get(bench.key)?.policy ?? bench;
    transitions.push({ kind: stood ? "extended" : "benched", bench: made, by: undefined });
  }
  if (snapshot === state.snapshot && windows === state.windows) return { state, transitions: NO_TRANSITIONS };
  return { state: { ...state, snapshot, windows }, transitions };
}

function without(windows: HealthState["windows"], keys: readonly string[]): HealthState["windows"] {
  if (!keys.some((key) => windows.has(key))) return windows;
  const kept = new Map(windows);
  for (const key of keys) kept.delete(key);
  return kept;
}
