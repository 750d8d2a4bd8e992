import type { Bench, HealthSnapshot } from "../domain/bench.ts";
import type { DeploymentScopes } from "../domain/deployment.ts";
import type { BenchPolicy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";

/** Whether a policy benches for any reason of its own. One that does not is "off" in the sense of B1. */
export function benchesAtAll(bench: BenchPolicy): boolean {
  return bench.failures > 0 || bench.rateLimitSkip.defaultMs > 0 || bench.quotaCooloffMs > 0;
}

/**
 * When the bench that a group sees on a deployment ends: the latest end over its three scopes, 0 when none was
 * ever made. A group whose bench is off heeds those made by hand and its own, not other policies' (B1).
 *
 * @param group key of the group that asks
 */
export function benchedUntil(
  health: HealthSnapshot,
  group: string,
  heedsOthers: boolean,
  scopes: DeploymentScopes,
): EpochMs {
  const { benches } = health;
  if (benches.size === 0) return 0;
  let until = scopeUntil(health, scopes.deployment, group, heedsOthers, 0);
  until = scopeUntil(health, scopes.model, group, heedsOthers, until);
  return scopeUntil(health, scopes.provider, group, heedsOthers, until);
}

/** A policy's bench while it stands and a group heeds it. */
export function standing(
  bench: Bench | undefined,
  group: string,
  heedsOthers: boolean,
  now: EpochMs,
): Bench | undefined {
  if (bench === undefined || bench.until <= now) return undefined;
  return heedsOthers || bench.group === group ? bench : undefined;
}

function scopeUntil(
  health: HealthSnapshot,
  key: string,
  group: string,
  heedsOthers: boolean,
  floor: EpochMs,
): EpochMs {
  const entry = health.benches.get(key);
  if (entry === undefined) return floor;
  let until = floor;
  const { manual, policy } = entry;
  if (manual !== undefined && manual.until > until) until = manual.until;
  if (policy !== undefined && policy.until > until && (heedsOthers || policy.group === group)) {
    until = policy.until;
  }
  return until;
}
