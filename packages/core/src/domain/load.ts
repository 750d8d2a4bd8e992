/**
 * What changes from request to request: an immutable input of `decide`, replaced by the router's ledger as it
 * applies effects. Measured load, round-robin places, reservations and probe leases join here.
 */
export interface LoadSnapshot {
  /** Providers whose credential is missing on every forwarder known (R10), canonical names. */
  readonly notReady: ReadonlySet<string>;
  /** S6: how often `round_robin` has picked, by key, group and eligible set. A missing place starts at random. */
  readonly places: ReadonlyMap<string, number>;
}

export const EMPTY_LOAD: LoadSnapshot = { notReady: new Set(), places: new Map() };
