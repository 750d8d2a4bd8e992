import type { AffinityHashes } from "./affinity.ts";
import type { CallerKey } from "./config-snapshot.ts";
import type { Endpoint } from "./endpoint.ts";
import type { EpochMs } from "./ports.ts";

/** The few facts of a request that routing needs; never its text. */
export interface RequestFacts {
  readonly id: string;
  readonly endpoint: Endpoint;
  /** Path as called, for messages. */
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
  /** E9: the provider that the caller's own key belongs to, canonical name. */
  readonly ownKeyProvider: string | undefined;
  readonly arrivedAt: EpochMs;
  /** The caller's own deadline, where it has one. */
  readonly deadline: EpochMs | undefined;
}

/** A request and who sent it. `key` is absent when none was given or it is unknown. */
export interface AuthenticatedRequest {
  readonly facts: RequestFacts;
  readonly key: CallerKey | undefined;
}
