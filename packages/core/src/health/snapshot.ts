/**
 * Changes to the set of benches. Every function gives a new snapshot, or the same one when nothing changed
 * (invariant 8); entries that did not change are shared.
 *
 * Invariant 4: a bench only moves its end later, except by a person or a successful probe. What ends one leaves the
 * time of its ending behind, which makes {@link mergeHealth} a join: replicas that exchange snapshots in any order,
 * also twice, come to the same benches.
 */
import type { Bench, BenchEntry, HealthSnapshot, ProbeLease, Ramp } from "../domain/bench.ts";
import type { EpochMs } from "../domain/ports.ts";
import { rampAfter, rampOf, stepBack } from "./ramp.ts";

/** How long the time of an ending is kept, ms: longer than outcomes and snapshots of other replicas are under way. */
export const CLEARED_MEMORY_MS = 600_000;

const EMPTY_ENTRY: BenchEntry = {
  policy: undefined,
  manual: undefined,
  policyClearedAt: 0,
  manualClearedAt: 0,
};

/**
 * Adds a bench that a policy made. Nothing changes when one that ends later stands already, when it is over, or when
 * a probe or a person has ended the scope's bench since.
 */
export function applyBench(health: HealthSnapshot, bench: Bench, now: EpochMs): HealthSnapshot {
  const entry = health.benches.get(bench.key) ?? EMPTY_ENTRY;
  if (bench.until <= now || bench.since <= entry.policyClearedAt) return health;
  const policy = later(entry.policy, bench);
  if (policy === entry.policy) return health;
  const { ramp: _over, ...rest } = entry;
  return withEntry(health, bench.key, { ...rest, policy });
}

/** `bench.ramp`: a failure at a scope whose traffic is returning takes it back a step. */
export function stepRampBack(health: HealthSnapshot, key: string, at: EpochMs, now: EpochMs): HealthSnapshot {
  const entry = health.benches.get(key);
  const ramp = entry === undefined ? undefined : rampOf(entry, now);
  if (entry === undefined || ramp === undefined) return health;
  const next = stepBack(ramp, at);
  return next === ramp ? health : withEntry(health, key, { ...entry, ramp: next });
}

/** Benches by hand: replaces an earlier one by hand, also by one that ends sooner. A policy's stands beside it. */
export function benchByHand(health: HealthSnapshot, bench: Bench): HealthSnapshot {
  const entry = health.benches.get(bench.key) ?? EMPTY_ENTRY;
  return withEntry(health, bench.key, { ...entry, manual: bench });
}

/** Ends every bench of a scope, those made by hand too; outcomes from before `now` do not bring them back. */
export function unbenchByHand(health: HealthSnapshot, key: string, now: EpochMs): HealthSnapshot {
  return withEntry(health, key, {
    policy: undefined,
    manual: undefined,
    policyClearedAt: now,
    manualClearedAt: now,
  });
}

/** B4: a successful probe ends what a policy made. */
export function endPolicyBench(health: HealthSnapshot, key: string, now: EpochMs): HealthSnapshot {
  const entry = health.benches.get(key);
  if (entry?.policy === undefined) return health;
  const { manual, manualClearedAt } = entry;
  const ended = { policy: undefined, manual, policyClearedAt: now, manualClearedAt };
  return withEntry(health, key, withReturn(ended, undefined, rampAfter(entry.policy, now, now)));
}

/** Forgets benches that are over and endings that are old. */
export function pruneHealth(health: HealthSnapshot, now: EpochMs): HealthSnapshot {
  const benches = new Map<string, BenchEntry>();
  let changed = false;
  for (const [key, entry] of health.benches) {
    const kept = pruneEntry(entry, now);
    if (kept !== entry) changed = true;
    if (kept !== undefined) benches.set(key, kept);
  }
  return changed ? { version: health.version + 1, benches } : health;
}

/**
 * Joins what two replicas know: of each scope the bench that ends last, unless it was ended since (B6). Of benches
 * made by hand the newest stands, for a person may also shorten one. `left` comes back itself when `right` adds nothing.
 */
export function mergeHealth(left: HealthSnapshot, right: HealthSnapshot): HealthSnapshot {
  if (left === right || right.benches.size === 0) return left;
  let benches: Map<string, BenchEntry> | undefined;
  for (const [key, theirs] of right.benches) {
    const ours = left.benches.get(key);
    const merged = ours === undefined ? theirs : mergeEntries(ours, theirs);
    if (merged === ours) continue;
    benches ??= new Map(left.benches);
    benches.set(key, merged);
  }
  return benches === undefined ? left : { version: Math.max(left.version, right.version) + 1, benches };
}

/** Benches in force, one per scope: the one that ends last. For lists and metrics. */
export function activeBenches(health: HealthSnapshot, now: EpochMs): readonly Bench[] {
  const active: Bench[] = [];
  for (const { policy, manual } of health.benches.values()) {
    if (policy !== undefined && policy.until > now && policy.until >= (manual?.until ?? 0))
      active.push(policy);
    else if (manual !== undefined && manual.until > now) active.push(manual);
  }
  return active;
}

function withEntry(health: HealthSnapshot, key: string, entry: BenchEntry): HealthSnapshot {
  const benches = new Map(health.benches);
  benches.set(key, entry);
  return { version: health.version + 1, benches };
}

/** The one that ends later, begun when the first of two that overlap began. */
function later(old: Bench | undefined, next: Bench): Bench {
  if (old === undefined || old.until <= next.since) return next;
  if (next.until <= old.until) return old;
  return old.since < next.since ? { ...next, since: old.since } : next;
}

function mergeEntries(ours: BenchEntry, theirs: BenchEntry): BenchEntry {
  const policyClearedAt = Math.max(ours.policyClearedAt, theirs.policyClearedAt);
  const manualClearedAt = Math.max(ours.manualClearedAt, theirs.manualClearedAt);
  const policy = joined(ours.policy, theirs.policy, policyClearedAt, endsLater);
  const manual = joined(ours.manual, theirs.manual, manualClearedAt, isNewer);
  const probe = policy === undefined ? undefined : laterLease(ours.probe, theirs.probe);
  const ramp = joinedRamp(ours.ramp, theirs.ramp, policyClearedAt, policy);
  const same =
    policy === ours.policy &&
    manual === ours.manual &&
    policyClearedAt === ours.policyClearedAt &&
    manualClearedAt === ours.manualClearedAt &&
    probe === ours.probe &&
    ramp === ours.ramp;
  return same ? ours : withReturn({ policy, manual, policyClearedAt, manualClearedAt }, probe, ramp);
}

/** The lease that lasts longer; of two as long the same one everywhere. */
function laterLease(ours: ProbeLease | undefined, theirs: ProbeLease | undefined): ProbeLease | undefined {
  if (ours === undefined || theirs === undefined) return ours ?? theirs;
  if (ours.until !== theirs.until) return ours.until > theirs.until ? ours : theirs;
  return theirs.router < ours.router ? theirs : ours;
}

/** The ramp that began last, which a failure makes later, unless a person or a newer bench ended it. */
function joinedRamp(
  ours: Ramp | undefined,
  theirs: Ramp | undefined,
  clearedAt: EpochMs,
  policy: Bench | undefined,
): Ramp | undefined {
  const left = ours !== undefined && ours.since >= clearedAt ? ours : undefined;
  const right = theirs !== undefined && theirs.since >= clearedAt ? theirs : undefined;
  const last = left === undefined || (right !== undefined && right.from > left.from) ? right : left;
  return last !== undefined && policy !== undefined && last.from < policy.until ? undefined : last;
}

function joined(
  ours: Bench | undefined,
  theirs: Bench | undefined,
  clearedAt: EpochMs,
  wins: (theirs: Bench, ours: Bench) => boolean,
): Bench | undefined {
  const left = ours !== undefined && ours.since > clearedAt ? ours : undefined;
  const right = theirs !== undefined && theirs.since > clearedAt ? theirs : undefined;
  if (left === undefined || right === undefined) return left ?? right;
  return wins(right, left) ? right : left;
}

/** A total order, so that two replicas that join in either order keep the same bench. */
function endsLater(theirs: Bench, ours: Bench): boolean {
  if (theirs.until !== ours.until) return theirs.until > ours.until;
  if (theirs.since !== ours.since) return theirs.since < ours.since;
  const rest = ({ reason, group, by }: Bench): string => `${reason} ${group} ${by}`;
  return rest(theirs) < rest(ours);
}

function isNewer(theirs: Bench, ours: Bench): boolean {
  return theirs.since === ours.since ? endsLater(theirs, ours) : theirs.since > ours.since;
}

function pruneEntry(entry: BenchEntry, now: EpochMs): BenchEntry | undefined {
  const policy = entry.policy !== undefined && entry.policy.until > now ? entry.policy : undefined;
  const manual = entry.manual !== undefined && entry.manual.until > now ? entry.manual : undefined;
  const clearedAt = Math.max(entry.policyClearedAt, entry.manualClearedAt);
  const remembered = clearedAt > 0 && clearedAt + CLEARED_MEMORY_MS > now;
  const ramp = rampOf(entry, now);
  const probe = policy === undefined ? undefined : entry.probe;
  if (policy === undefined && manual === undefined && ramp === undefined && !remembered) return undefined;
  const same =
    policy === entry.policy && manual === entry.manual && ramp === entry.ramp && probe === entry.probe;
  if (same) return entry;
  const { policyClearedAt, manualClearedAt } = entry;
  return withReturn({ policy, manual, policyClearedAt, manualClearedAt }, probe, ramp);
}

/** An entry has a lease or a ramp only where there is one: most have neither. */
function withReturn(entry: BenchEntry, probe: ProbeLease | undefined, ramp: Ramp | undefined): BenchEntry {
  return {
    ...entry,
    ...(probe === undefined ? undefined : { probe }),
    ...(ramp === undefined ? undefined : { ramp }),
  };
}
