import type { EpochMs } from "../domain/ports.ts";

/** How often a forwarder reports while anything is in flight or has changed, ms. */
export const REPORT_EVERY_MS = 100;

/** A reporter that is silent for longer has nothing in flight any more, ms. */
export const REPORT_TTL_MS = 2_000;

/**
 * What one forwarder knows of its own calls. Gauges and the counts of the minute are totals, so a lost or repeated
 * report leaves no trace; measurements are what ended since the report before and count once, by `sequence`.
 */
export interface LoadReport {
  /** Unique for each start of a process, so that its sequence never begins again. */
  readonly reporter: string;
  /** Grows by one with each report. */
  readonly sequence: number;
  /** Every deployment with something in flight or counted this minute; those not named have nothing in flight. */
  readonly deployments: readonly ReportedLoad[];
}

/** A forwarder's calls to one provider's model. Calls with a caller's own key (E9) are only in flight, nothing else. */
export interface ReportedLoad {
  /** Load key: `DeploymentScopes.model`. */
  readonly load: string;
  /** Attempts from the moment their decision was received until they ended, whatever ended them (invariant 3). */
  readonly inFlight: number;
  /** The minute that the next two are of, by the reporter's clock. */
  readonly minute: number;
  /** Attempts begun in this minute. */
  readonly requests: number;
  /** Tokens used by answers that ended in this minute, and the estimates of those in flight. */
  readonly tokens: number;
  /** Attempts since the last report that went well and were measured. */
  readonly measured: number;
  /** Sum of their times to response headers or first token, ms. */
  readonly firstTokenMs: number;
  /** Tokens after the first of streams that ended since, and the ms that those took. */
  readonly streamedTokens: number;
  readonly streamedMs: number;
  /**
   * Times to the first token of streams since the last report, and to the head of what did not stream, counted by
   * {@link timeBucket}: of calls whose group hedges alone, and left out where there are none.
   */
  readonly streamTimes?: ReadonlyMap<number, number> | undefined;
  readonly wholeTimes?: ReadonlyMap<number, number> | undefined;
}

/** What a ledger remembers of a reporter. */
export interface ReporterState {
  sequence: number;
  /** When it was heard last, by the ledger's clock. */
  heardAt: EpochMs;
  readonly shares: Map<string, Share>;
}

/** A reporter's part in the totals of a deployment. */
export interface Share {
  inFlight: number;
  minute: number;
  requests: number;
  tokens: number;
}
