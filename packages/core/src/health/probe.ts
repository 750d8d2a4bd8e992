/** B4: one probe at a time in the whole cluster. Health names the router that may probe a bench, in the snapshot. */
import type { BenchEntry, HealthSnapshot, ProbeLease } from "../domain/bench.ts";
import { groupOf, type ConfigSnapshot } from "../domain/config-snapshot.ts";
import type { DeploymentScopes } from "../domain/deployment.ts";
import { hashKey } from "../domain/hash-key.ts";
import type { EpochMs } from "../domain/ports.ts";
import { benchesAtAll, standing } from "./benched-until.ts";

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

/** What a router says of probes, by scope key of the bench, so that health can name one that has the traffic. */
export interface ProbeClaims {
  /** Benches that its traffic of late would have gone to. */
  readonly wants: ReadonlySet<string>;
  /** Benches that it may probe as far as it knows, or that a probe of its own is under way at. */
  readonly holds: ReadonlySet<string>;
}

const NO_CLAIMS: ReadonlyMap<string, ProbeClaims> = new Map();

/**
 * Names a router for every bench that policies made, and renews what is half used up; to be called about every
 * second, by every replica that keeps health. Replicas that know the same routers name the same one. A lease that its
 * router has no traffic for is not renewed while another asks for it, and passes on when its router says that it is
 * over; one whose router is gone passes on only once a probe that it may have begun is over.
 *
 * @param routers names of the live routers, in any order
 * @param claims what they say, by name; of one that says nothing it is not known whether it probes
 */
export function grantProbes(
  health: HealthSnapshot,
  routers: readonly string[],
  now: EpochMs,
  claims: ReadonlyMap<string, ProbeClaims> = NO_CLAIMS,
): HealthSnapshot {
  if (routers.length === 0 || health.benches.size === 0) return health;
  let benches: Map<string, BenchEntry> | undefined;
  for (const [key, entry] of health.benches) {
    const { policy, probe } = entry;
    if (policy === undefined || policy.until <= now) continue;
    if (probe !== undefined && probe.until - now > PROBE_LEASE_MS / 2) continue;
    const asking = routers.filter((router) => claims.get(router)?.wants.has(key) === true);
    const named = asking.length > 0 ? asking : routers;
    const stays = probe !== undefined && named.includes(probe.router);
    if (probe !== undefined && !stays && mayProbe(key, probe, policy.since, now, routers, claims)) continue;
    const router = stays ? probe.router : routerFor(key, named);
    benches ??= new Map(health.benches);
    benches.set(key, { ...entry, probe: { router, until: now + PROBE_LEASE_MS } });
  }
  return benches === undefined ? health : { version: health.version + 1, benches };
}

/** Whether the router of a lease that is not renewed may still probe by it. */
function mayProbe(
  key: string,
  { router, until }: ProbeLease,
  benchedAt: EpochMs,
  now: EpochMs,
  routers: readonly string[],
  claims: ReadonlyMap<string, ProbeClaims>,
): boolean {
  if (until > now) return true;
  const said = routers.includes(router) ? claims.get(router) : undefined;
  if (said !== undefined) return said.holds.has(key);
  return until + PROBE_MAX_MS > now && until > benchedAt;
}

/**
 * What a router has to say of probes.
 *
 * @param groups keys of the groups that it had traffic for of late
 * @param inFlight scope keys of the benches that its probes are under way at
 */
export function probeClaims(
  health: HealthSnapshot,
  config: ConfigSnapshot | undefined,
  groups: Iterable<string>,
  inFlight: Iterable<string>,
  router: string,
  now: EpochMs,
): ProbeClaims {
  const holds = new Set(inFlight);
  const wants = new Set<string>();
  if (health.benches.size === 0 || config === undefined) return { wants, holds };
  for (const [key, { probe }] of health.benches) {
    if (probe !== undefined && probe.router === router && probe.until > now) holds.add(key);
  }
  for (const name of groups) {
    const group = groupOf(config, name);
    if (group === undefined || group.policy.bench.probeShare <= 0) continue;
    for (const { paused, scopes } of group.deployments) {
      if (paused) continue;
      for (const key of [scopes.deployment, scopes.model, scopes.provider]) {
        const policy = health.benches.get(key)?.policy;
        if (standing(policy, name, benchesAtAll(group.policy.bench), now) !== undefined) wants.add(key);
      }
    }
  }
  return { wants, holds };
}

/** How many routers say that they have traffic for a bench, by its scope key. */
export function countProbers(claims: Iterable<ProbeClaims>): ReadonlyMap<string, number> {
  const probers = new Map<string, number>();
  for (const { wants } of claims) for (const key of wants) probers.set(key, (probers.get(key) ?? 0) + 1);
  return probers;
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
