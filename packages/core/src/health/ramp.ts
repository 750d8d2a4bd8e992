/** `bench.ramp`: after a bench traffic returns in steps; a failure takes it back one step. */
import {
  RAMP_STEP_MS,
  type Bench,
  type BenchEntry,
  type HealthSnapshot,
  type Ramp,
} from "../domain/bench.ts";
import type { DeploymentScopes } from "../domain/deployment.ts";
import type { EpochMs } from "../domain/ports.ts";

/** The ramp that runs at a scope: also one whose bench is over but not pruned yet. */
export function rampOf(entry: BenchEntry, now: EpochMs): Ramp | undefined {
  const { policy, ramp } = entry;
  if (policy !== undefined && policy.until > now) return undefined;
  const made = policy === undefined ? undefined : rampAfter(policy, policy.until, policy.since);
  const found = ramp !== undefined && (made === undefined || ramp.from >= made.from) ? ramp : made;
  return found !== undefined && rampEnd(found) > now ? found : undefined;
}

/** The ramp that follows a bench which ended at `end`; undefined where traffic returns at once. */
export function rampAfter(bench: Bench, end: EpochMs, since: EpochMs): Ramp | undefined {
  const steps = bench.rampSteps ?? 0;
  return steps === 0 ? undefined : { from: end, since, steps, group: bench.group };
}

/** When a ramp is over. */
export function rampEnd(ramp: Ramp): EpochMs {
  return ramp.from + ramp.steps * RAMP_STEP_MS;
}

/**
 * The share of its traffic that a deployment gets, 0 to 1: that of the lowest step among its scopes.
 *
 * @param percents steps of the policy of the group that asks
 */
export function rampShare(
  health: HealthSnapshot,
  group: string,
  heedsOthers: boolean,
  scopes: DeploymentScopes,
  percents: readonly number[],
  now: EpochMs,
): number {
  let share = 1;
  if (health.benches.size === 0) return share;
  for (const key of [scopes.deployment, scopes.model, scopes.provider]) {
    const entry = health.benches.get(key);
    const ramp = entry === undefined ? undefined : rampOf(entry, now);
    if (ramp === undefined || (!heedsOthers && ramp.group !== group)) continue;
    const step = Math.max(0, Math.floor((now - ramp.from) / RAMP_STEP_MS));
    share = Math.min(share, (percents[step] ?? 100) / 100);
  }
  return share;
}

/** The ramp after a failure at `at`: one step back, which begins anew; at the first step that one begins anew. */
export function stepBack(ramp: Ramp, at: EpochMs): Ramp {
  if (at < ramp.from) return ramp;
  const step = Math.floor((at - ramp.from) / RAMP_STEP_MS);
  return { ...ramp, from: at - Math.max(0, step - 1) * RAMP_STEP_MS };
}
