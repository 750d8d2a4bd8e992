/** What load means at a given moment: estimates fade, minutes end. */
import { minuteOf, type DeploymentLoad } from "./load.ts";
import type { EpochMs } from "./ports.ts";

/** S4: measured requests that make a history. */
export const HISTORY_SAMPLES = 20;

/**
 * A latency that nothing confirms halves in this time, ms, so that a deployment that was slow once is asked again
 * although others are chosen before it.
 */
export const LATENCY_HALF_LIFE_MS = 30_000;

/** Successes and failures are forgotten at this pace, ms. */
export const OUTCOME_DECAY_MS = 10_000;

/** Requests of the minute that `now` lies in. A reporter whose clock is ahead may be in the next one already. */
export function requestsThisMinute(load: DeploymentLoad | undefined, now: EpochMs): number {
  return load !== undefined && load.minute >= minuteOf(now) ? load.requests : 0;
}

/** Tokens of the minute that `now` lies in. */
export function tokensThisMinute(load: DeploymentLoad | undefined, now: EpochMs): number {
  return load !== undefined && load.minute >= minuteOf(now) ? load.tokens : 0;
}

/**
 * What one answer is expected to take until its first token, ms: the measured time over the share of recent calls
 * that went well, so that a deployment which fails fast looks slow (BH-10). Infinity without a sample.
 */
export function expectedFirstTokenMs(load: DeploymentLoad | undefined, now: EpochMs): number {
  if (load?.firstTokenMs === undefined) return Number.POSITIVE_INFINITY;
  const idle = Math.max(0, now - load.measuredAt);
  const measured = load.firstTokenMs * Math.exp((-Math.LN2 * idle) / LATENCY_HALF_LIFE_MS);
  if (load.failures === 0) return measured;
  const fade = Math.exp(-Math.max(0, now - load.countedAt) / OUTCOME_DECAY_MS);
  const successes = load.successes * fade;
  return (measured * (successes + load.failures * fade + 1)) / (successes + 1);
}
