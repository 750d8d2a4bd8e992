import { OUTCOME_DECAY_MS } from "../domain/load-readings.ts";
import type { EpochMs } from "../domain/ports.ts";

/** Time in which an older measurement loses two thirds of its weight against newer ones, ms. */
export const LATENCY_TAU_MS = 10_000;

/**
 * Peak EWMA: a slower sample counts at once and in full, faster ones win it back as time passes. How many samples
 * come does not matter, only over how long.
 *
 * @param before estimate as of `beforeAt`; undefined for the first sample
 */
export function peakEwma(before: number | undefined, beforeAt: EpochMs, sample: number, at: EpochMs): number {
  if (before === undefined || sample > before) return sample;
  const kept = Math.exp(-Math.max(0, at - beforeAt) / LATENCY_TAU_MS);
  return before * kept + sample * (1 - kept);
}

/** A count that is forgotten as time passes. */
export function decayedCount(count: number, since: EpochMs, at: EpochMs): number {
  return count === 0 ? 0 : count * Math.exp(-Math.max(0, at - since) / OUTCOME_DECAY_MS);
}
