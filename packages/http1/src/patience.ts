/** How long a server of ours waits for its peer, ms; one policy for all of them. */
export interface Patience {
  /** No byte to or from a peer that is waited for: an upload that stopped, a reader that takes nothing (BH-42). */
  readonly stallMs: number;
  /** From a request's first byte to the end of its head. */
  readonly headMs: number;
  /** For a whole request with its body: a long upload over a slow line is fine while bytes come. */
  readonly requestMs: number;
  /** Between two requests: longer than clients' pools and load balancers keep theirs (BH-40). */
  readonly idleMs: number;
}

export const PATIENCE: Patience = {
  stallMs: 120_000,
  headMs: 30_000,
  requestMs: 1_800_000,
  idleMs: 75_000,
};
