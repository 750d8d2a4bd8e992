import type { EpochMs } from "./ports.ts";

/**
 * What changes from request to request: an input of `decide` that one ledger of the router keeps and changes as it
 * applies effects. It is a view that holds for the turn in which it was taken; whoever keeps inputs copies it.
 */
export interface LoadSnapshot {
  /** Providers whose credential is missing on every forwarder known (R10), canonical names. */
  readonly notReady: ReadonlySet<string>;
  /**
   * Counters that move on by one with each request that they are about: S6's turns by key, group and eligible set,
   * S4's and S7's counts by group, B4's by benched deployment, what hedges may be made of by group. A missing one starts
   * at random, those of shares at 0.
   */
  readonly places: ReadonlyMap<string, number>;
  /** By load key, which is `DeploymentScopes.model`: a provider's model is as busy as all groups make it. */
  readonly deployments?: ReadonlyMap<string, DeploymentLoad> | undefined;
  /** B4: probes in flight, by the scope key of the bench. */
  readonly probes?: ReadonlyMap<string, ProbeInFlight> | undefined;
  /** Retry budgets by {@link Group.key} of the group asked for. */
  readonly budgets?: ReadonlyMap<string, BudgetLevel> | undefined;
  /** Routers that share `retry.budget.per_second` of a group; 1 when left out. */
  readonly routers?: number | undefined;
  /** B4: how many routers say that they have traffic for a bench, by its scope key; as many as there are where none does. */
  readonly probers?: ReadonlyMap<string, number> | undefined;
}

/** Nothing known of any deployment. */
export const EMPTY_LOAD: LoadSnapshot = { notReady: new Set(), places: new Map() };

/** What is known of the load on one provider's model. */
export interface DeploymentLoad {
  /** Requests in flight, never below 0: what forwarders report, and the leases that their reports cannot show yet. */
  readonly inFlight: number;
  /** Which minute `requests` and `tokens` are of, see {@link minuteOf}; in any later one both are 0. */
  readonly minute: number;
  readonly requests: number;
  readonly tokens: number;
  /** S4: measured requests, which is those that went well; failures are no samples (BH-10). */
  readonly samples: number;
  /** Time to response headers or first token, ms: peak EWMA as of `measuredAt`. Undefined without a sample. */
  readonly firstTokenMs: number | undefined;
  /** Time per token after the first, ms, kept apart so that long answers do not look slow. */
  readonly perTokenMs: number | undefined;
  /**
   * Hedging: the time to the first token that 19 of 20 streams do not exceed, ms, and the same of answers that do not
   * stream, to their head. Undefined where too few were measured.
   */
  readonly streamP95Ms?: number | undefined;
  readonly wholeP95Ms?: number | undefined;
  /** Recent successes and failures, decayed as of `countedAt`. */
  readonly successes: number;
  readonly failures: number;
  /** When `firstTokenMs` was last measured, and when `successes` and `failures` last changed. */
  readonly measuredAt: EpochMs;
  readonly countedAt: EpochMs;
}

/** B4: the probe that holds a bench's only slot. Its end frees the slot, whatever it is; `until` at the latest. */
export interface ProbeInFlight {
  readonly decision: string;
  readonly until: EpochMs;
}

/** What a retry budget held at `at`. */
export interface BudgetLevel {
  readonly level: number;
  readonly at: EpochMs;
}

/** Length of the windows that limits count in, ms. */
export const MINUTE_MS = 60_000;

/** Number of the minute that a time lies in. */
export function minuteOf(at: EpochMs): number {
  return Math.floor(at / MINUTE_MS);
}
