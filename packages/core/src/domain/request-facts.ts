import type { AffinityHashes } from "./affinity.ts";
import type { CallerKey } from "./config-snapshot.ts";
import type { Endpoint } from "./endpoint.ts";
import type { EpochMs } from "./ports.ts";

/** The few facts of a request that routing needs; never its text. */
export interface RequestFacts {
  readonly id: string;
  readonly endpoint: Endpoint;
  /** Path as called, for messages; of a native endpoint it says which one. */
  readonly path: string;
  /** As the caller wrote it; absent or empty means "the only group of the key" (R2). */
  readonly model: string | undefined;
  readonly stream: boolean;
  /** Decoded body size in bytes (E8). */
  readonly bodyBytes: number;
  /** Input tokens, where somebody has counted or estimated them; see {@link expectedInputTokens}. */
  readonly inputTokens?: number | undefined;
  /** The caller's own bound on output tokens. */
  readonly maxOutputTokens?: number | undefined;
  /** Section 4: hashes of the affinity keys that the request has. */
  readonly affinity?: AffinityHashes | undefined;
  /** E11: names a response that one provider stores, so no other deployment could serve it. */
  readonly storedResponse: boolean;
  /** P8: where that response is kept; absent when nobody remembers. */
  readonly kept?: KeptResponse | undefined;
  /** P8: the answer of `/v1/responses` is to be kept, so it goes to a deployment that keeps answers where the list has one. */
  readonly store?: boolean | undefined;
  /** BH-31: the provider whose encrypted contents the request brings back, canonical name: it serves where it can. */
  readonly originProvider?: string | undefined;
  /** E9: the provider that the caller's own key belongs to, canonical name. */
  readonly ownKeyProvider: string | undefined;
  /** Earlier tries of the same request that the caller's SDK has made (`x-stainless-retry-count`); 0 when left out. */
  readonly sdkRetries?: number | undefined;
  readonly arrivedAt: EpochMs;
  /** The caller's own deadline, where it has one. */
  readonly deadline: EpochMs | undefined;
}

/** The account that keeps a response (P8). */
export interface KeptResponse {
  /** Canonical name. */
  readonly provider: string;
  /** Key of the group that was asked for it, which whoever reads it must be granted. */
  readonly group: string;
  /** Key of the group that served: the same, or a fallback of it. */
  readonly servedBy: string;
  /** Keys of the groups that made what else the request names, which must be granted too. Absent: none. */
  readonly others?: readonly string[] | undefined;
}

/** A request and who sent it. `key` is absent when none was given or it is unknown. */
export interface AuthenticatedRequest {
  readonly facts: RequestFacts;
  readonly key: CallerKey | undefined;
}
