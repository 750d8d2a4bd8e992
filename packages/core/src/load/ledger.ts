import type { Effect } from "../domain/decision.ts";
import { verdictOf } from "../domain/error-class.ts";
import {
  MINUTE_MS,
  minuteOf,
  type BudgetLevel,
  type DeploymentLoad,
  type LoadSnapshot,
  type ProbeInFlight,
} from "../domain/load.ts";
import type { Outcome } from "../domain/outcome.ts";
import type { EpochMs } from "../domain/ports.ts";
import { Account } from "./account.ts";
import { RecentIds, setBounded } from "./bounded.ts";
import { Leases } from "./leases.ts";
import type { LoadKeyLookup } from "./load-key.ts";
import { REPORT_TTL_MS, type LoadReport, type ReporterState, type Share } from "./report.ts";

/** Most places and most budgets that are kept. */
export const MAX_PLACES = 10_000;
/** Most provider's models that are kept; those beyond have no load. */
export const MAX_ACCOUNTS = 10_000;
/** Most reporters that are kept; those beyond are not heard. */
export const MAX_REPORTERS = 1_000;
/** What nobody has called for this long has no history any more, ms. */
export const HISTORY_MS = 600_000;

const RECENT_OUTCOMES = 10_000;
const NOTHING: ReadonlySet<string> = new Set<string>();

/**
 * The one place of a router where load changes: effects of decisions, outcomes and reports in, {@link LoadSnapshot}
 * out. No clock and no I/O; everything costs the same however much is known, and everything is bounded.
 *
 * A call in flight counts once: forwarders report how many they have under way, every 100 ms, as a total, and a lease
 * of this router counts only until the forwarder that makes the call has reported after it (see `leases.ts`).
 * Calls that other routers decided show in the same reports, at most one report late.
 */
export class LoadLedger {
  readonly #accounts = new Map<string, Account>();
  readonly #places = new Map<string, number>();
  readonly #budgets = new Map<string, BudgetLevel>();
  readonly #probes = new Map<string, ProbeInFlight>();
  readonly #reporters = new Map<string, ReporterState>();
  readonly #leases = new Leases();
  readonly #seen = new RecentIds(RECENT_OUTCOMES);

  /**
   * What a decision goes by: a view that holds until the next change.
   *
   * @param notReady providers without a credential (R10)
   * @param routers live routers of the cluster, this one included
   * @param probers as {@link LoadSnapshot.probers}
   */
  snapshot(notReady: ReadonlySet<string>, routers = 1, probers?: ReadonlyMap<string, number>): LoadSnapshot {
    return {
      notReady,
      places: this.#places,
      deployments: this.#accounts,
      probes: this.#probes,
      budgets: this.#budgets,
      routers,
      probers,
    };
  }

  /**
   * Applies what a decision changes; to be called in the decision's own turn.
   *
   * @param holder {@link LoadReport.reporter} of whoever makes the call; undefined for callers that do not report
   */
  apply(effects: readonly Effect[], now: EpochMs, holder?: string): void {
    for (const effect of effects) {
      switch (effect.kind) {
        case "lease":
          this.#leases.open(effect, this.#account(effect.load, now), holder, now);
          break;
        case "place":
          setBounded(this.#places, effect.place, effect.value, MAX_PLACES);
          break;
        case "probe":
          for (const key of effect.keys) {
            const probe = { decision: effect.decision, until: effect.expiresAt };
            setBounded(this.#probes, key, probe, MAX_PLACES);
          }
          break;
        case "budget":
          setBounded(this.#budgets, effect.group, { level: effect.level, at: effect.at }, MAX_PLACES);
          break;
        case "bench":
          break;
      }
    }
  }

  /**
   * Takes in how attempts ended, from the bus, from a continuation, or both: frees their leases and probes, and
   * counts failures once. Successes need not come here unless they are a probe's: reports measure them.
   */
  observe(outcomes: Iterable<Outcome>, lookup: LoadKeyLookup, now: EpochMs): void {
    for (const outcome of outcomes) {
      const failed = verdictOf(outcome.error) === "failed";
      this.#leases.end(outcome.decision, failed);
      this.#endProbe(outcome.decision);
      if (!failed || outcome.ownKey || !this.#seen.add(outcome.decision)) continue;
      const load = lookup(outcome.group, outcome.deployment);
      if (load !== undefined) this.#account(load, now).fail(Math.min(outcome.at, now));
    }
  }

  /** Takes in what a forwarder reports. One that comes twice or late changes nothing. */
  report(report: LoadReport, now: EpochMs): void {
    const known = this.#reporters.get(report.reporter);
    if (known !== undefined && report.sequence <= known.sequence) return;
    if (known === undefined && this.#reporters.size >= MAX_REPORTERS) return;
    const state = known ?? { sequence: 0, heardAt: now, shares: new Map<string, Share>() };
    state.sequence = report.sequence;
    state.heardAt = now;
    const named = new Set<string>();
    for (const one of report.deployments) {
      named.add(one.load);
      const account = this.#account(one.load, now);
      const share: Share = {
        inFlight: Math.max(0, one.inFlight),
        // A clock that runs far ahead must not end the minutes of all others.
        minute: Math.min(one.minute, minuteOf(now) + 1),
        requests: Math.max(0, one.requests),
        tokens: Math.max(0, one.tokens),
      };
      account.reported(state.shares.get(one.load), share);
      account.measure(one, now);
      state.shares.set(one.load, share);
    }
    this.#idle(state, named);
    this.#reporters.set(report.reporter, state);
    this.#leases.settle(report.reporter, now);
  }

  /** A forwarder has left for good: it has nothing in flight. */
  forget(reporter: string): void {
    const state = this.#reporters.get(reporter);
    if (state === undefined) return;
    this.#idle(state, NOTHING);
    this.#reporters.delete(reporter);
  }

  /** Lets time pass: leases, probes, reporters and histories that are over are forgotten. About every second. */
  tick(now: EpochMs): void {
    this.#leases.sweep(now);
    for (const [reporter, state] of this.#reporters) {
      if (state.heardAt + REPORT_TTL_MS <= now) this.#idle(state, NOTHING);
      // Until its counts are of a minute long over, it may come back and count on.
      if (state.heardAt + 2 * MINUTE_MS <= now) this.#reporters.delete(reporter);
    }
    for (const [key, probe] of this.#probes) if (probe.until <= now) this.#probes.delete(key);
    for (const [load, account] of this.#accounts) {
      if (account.inFlight === 0 && account.touchedAt + HISTORY_MS <= now) this.#accounts.delete(load);
    }
  }

  /** Leases that count at the moment, for metrics and tests. */
  get leases(): number {
    return this.#leases.size;
  }

  #account(load: string, now: EpochMs): Account {
    let account = this.#accounts.get(load);
    if (account === undefined) {
      account = new Account();
      if (this.#accounts.size < MAX_ACCOUNTS) this.#accounts.set(load, account);
    }
    account.touchedAt = now;
    return account;
  }

  /** What a report does not name has nothing in flight; what it counted this minute stays counted. */
  #idle(state: ReporterState, named: ReadonlySet<string>): void {
    for (const [load, share] of state.shares) {
      if (named.has(load)) continue;
      const account = this.#accounts.get(load);
      if (account !== undefined) account.reported(share, { ...share, inFlight: 0 });
      if (account === undefined || account.minute > share.minute) state.shares.delete(load);
      else share.inFlight = 0;
    }
  }

  #endProbe(decision: string): void {
    if (this.#probes.size === 0) return;
    for (const [key, probe] of this.#probes) if (probe.decision === decision) this.#probes.delete(key);
  }
}

/** What of a load one decision reads: keys of each map of {@link LoadSnapshot}. */
export interface LoadReads {
  /** Of `deployments`. */
  readonly loads: readonly string[];
  /** Of `probes`. */
  readonly scopes: readonly string[];
  /** Of `budgets`. */
  readonly groups: readonly string[];
  readonly places: readonly string[];
}

/** A copy of a load for whoever keeps inputs of decisions (invariant 1), cut down to what one decision reads. */
export function recordLoad(load: LoadSnapshot, reads: LoadReads): LoadSnapshot {
  const deployments = new Map<string, DeploymentLoad>();
  for (const [key, one] of picked(load.deployments, reads.loads)) {
    const { inFlight, minute, requests, tokens, samples, firstTokenMs, perTokenMs } = one;
    const { successes, failures, measuredAt, countedAt, streamP95Ms, wholeP95Ms } = one;
    const measured = { samples, firstTokenMs, perTokenMs, successes, failures, measuredAt, countedAt };
    deployments.set(key, { inFlight, minute, requests, tokens, ...measured, streamP95Ms, wholeP95Ms });
  }
  return {
    notReady: new Set(load.notReady),
    places: picked(load.places, reads.places),
    deployments,
    probes: picked(load.probes, reads.scopes),
    budgets: picked(load.budgets, reads.groups),
    routers: load.routers,
    probers: picked(load.probers, reads.scopes),
  };
}

function picked<Value>(
  from: ReadonlyMap<string, Value> | undefined,
  keys: readonly string[],
): Map<string, Value> {
  const found = new Map<string, Value>();
  if (from === undefined || from.size === 0) return found;
  for (const key of keys) {
    const value = from.get(key);
    if (value !== undefined) found.set(key, value);
  }
  return found;
}
