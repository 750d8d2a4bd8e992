/** A provider's own answer, for E7: what the caller gets when everything failed. */
export interface RealAnswer {
  readonly status: number;
  /** Flat, lower-case names; still the provider's. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
}
