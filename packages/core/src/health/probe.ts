/** B4: one probe at a time in the whole cluster. Health names the router that may probe a bench, in the snapshot. */
import type { BenchEntry, HealthSnapshot } from "../domain/bench.ts";
import type { ConfigSnapshot } from "../domain/config-snapshot.ts";
import type { DeploymentScopes } from "../domain/deployment.ts";
import { hashKey } from "../domain/hash-key.ts";
import type { EpochMs } from "../domain/ports.ts";
import { standing } from "./benched-until.ts";

/** How long a router may probe without being named again, ms. */
export const PROBE_LEASE_MS = 10_000;

/** After this long a probe counts as failed and frees the slot, ms; nothing that bounds its attempt is longer. */
export const PROBE_MAX_MS = 60_000;

const NO_KEYS: readonly string[] = [];

/**
 * The benches that a probe of a deployment would probe: all that stand there in the eyes of a group. Empty where it
 * may not be probed by this router now: another one may, nobody was named yet, or a person benched it.
 */
export function probeKeys(
  health: HealthSnapshot,
  group: string,
  heedsOthers: boolean,
  scopes: DeploymentScopes,
  router: string,
  now: EpochMs,
): readonly string[] {
  const keys: string[] = [];
  for (const key of [scopes.deployment, scopes.model, scopes.provider]) {
    const entry = health.benches.get(key);
    if (entry === undefined) continue;
    if (entry.manual !== undefined && entry.manual.until > now) return NO_KEYS;
    if (standing(entry.policy, group, heedsOthers, now) === undefined) continue;
    if (entry.probe?.router !== router || entry.probe.until <= now) return NO_KEYS;
    keys.push(key);
  }
  return keys;
}

/**
 * Names a router for every bench that policies made, and renews what is half used up; to be called about every
 * second, by every replica that keeps health. Replicas that know the same routers name the same one. A lease whose
 * router is gone passes on only once a probe that it may have begun is over.
 *
 * @param routers names of the live routers, in any order
 */
export function grantProbes(
  health: HealthSnapshot,
  routers: readonly string[],
  now: EpochMs,
): HealthSnapshot {
  if (routers.length === 0 || health.benches.size === 0) return health;
  let benches: Map<string, BenchEntry> | undefined;
  for (const [key, entry] of health.benches) {
    const { policy, probe } = entry;
    if (policy === undefined || policy.until <= now) continue;
    const stays = probe !== undefined && routers.includes(probe.router);
    if (stays && probe.until - now > PROBE_LEASE_MS / 2) continue;
    if (probe !== undefined && !stays && probe.until + PROBE_MAX_MS > now && probe.until > policy.since)
      continue;
    const router = stays ? probe.router : routerFor(key, routers);
    benches ??= new Map(health.benches);
    benches.set(key, { ...entry, probe: { router, until: now + PROBE_LEASE_MS } });
  }
  return benches === undefined ? health : { version: health.version + 1, benches };
}

/** Whether any group of a config probes: where none does nobody need be named. */
export function wantsProbes(config: ConfigSnapshot): boolean {
  for (const { policy } of config.groups.values()) if (policy.bench.probeShare > 0) return true;
  return false;
}

/** Each bench has its own router, so that not one of them makes all probes. */
function routerFor(key: string, routers: readonly string[]): string {
  let chosen = "";
  let most = -1;
  for (const router of routers) {
    const score = hashKey(`${router} ${key}`);
    if (score > most || (score === most && router < chosen)) {
      most = score;
      chosen = router;
    }
  }
  return chosen;
}
