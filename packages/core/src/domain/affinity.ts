/** What an affinity key may be made of (F3). */
export const AFFINITY_KINDS = ["session", "user", "conversation", "expression"] as const;

/** One of {@link AFFINITY_KINDS}. */
export type AffinityKind = (typeof AFFINITY_KINDS)[number];

/**
 * Hashes of the affinity keys that a request has, each a safe integer from `hashKey`; the keys themselves come no
 * further (F7). The caller's own is not among them: it is made from the key that calls. A kind that is absent has no
 * key, and the request takes the strategy.
 */
export interface AffinityHashes {
  /** From headers and body; where absent, `by: session` takes the caller. */
  readonly session?: number | undefined;
  /** Of the text that opens the conversation (F4). */
  readonly conversation?: number | undefined;
  /** By the source of the expression. */
  readonly expressions?: ReadonlyMap<string, number> | undefined;
}
