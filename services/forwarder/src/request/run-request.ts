import type { InferRequest } from "@switchyard/proto/inference/v1/inference_service";
import type { KeptResponse } from "@switchyard/proto/routing/v1/routing_service";
import type { BodyFacts, NativeCall, StoredCall } from "@switchyard/providers";
import type { RequestAffinity } from "./affinity-reader.ts";
import type { OwnKey } from "./own-key.ts";
import type { SdkFacts } from "./sdk-headers.ts";

/** One request as its run sees it. */
export interface RunRequest {
  readonly id: string;
  readonly infer: InferRequest;
  readonly facts: BodyFacts;
  /** Flat, lower-case names. */
  readonly headers: readonly string[];
  readonly ownKey: OwnKey | undefined;
  readonly affinity: RequestAffinity;
  /** A call about a stored response; undefined for all others. */
  readonly storedCall: StoredCall | undefined;
  /** A call of a native endpoint; undefined for all others. */
  readonly nativeCall: NativeCall | undefined;
  /** Where the response is kept that it reads or continues (P8), as far as anybody remembers; undefined for all other requests. */
  readonly kept: KeptResponse | undefined;
  /** BH-31: the provider whose encrypted contents it brings back. */
  readonly originProvider: string | undefined;
  readonly arrivedAt: number;
  readonly sdk: SdkFacts;
}
