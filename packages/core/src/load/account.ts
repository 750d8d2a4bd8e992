import type { DeploymentLoad } from "../domain/load.ts";
import type { EpochMs } from "../domain/ports.ts";
import { decayedCount, peakEwma } from "./latency.ts";
import type { ReportedLoad, Share } from "./report.ts";
import { TimeSketch } from "./time-sketch.ts";

/** The running totals of one provider's model; what `decide` sees is this object, as {@link DeploymentLoad}. */
export class Account implements DeploymentLoad {
  minute = 0;
  requests = 0;
  tokens = 0;
  samples = 0;
  firstTokenMs: number | undefined;
  perTokenMs: number | undefined;
  streamP95Ms: number | undefined;
  wholeP95Ms: number | undefined;
  successes = 0;
  failures = 0;
  measuredAt: EpochMs = 0;
  countedAt: EpochMs = 0;
  /** When anything last happened here. */
  touchedAt: EpochMs = 0;
  #reported = 0;
  #leased = 0;
  #perTokenAt: EpochMs = 0;
  #streams: TimeSketch | undefined;
  #wholes: TimeSketch | undefined;

  get inFlight(): number {
    return Math.max(0, this.#reported + this.#leased);
  }

  /** A lease begins (1) or ends (-1). */
  lease(change: 1 | -1): void {
    this.#leased += change;
  }

  /** Counts into a minute; what an older minute had is over. */
  count(minute: number, requests: number, tokens: number): void {
    if (minute > this.minute) {
      this.minute = minute;
      this.requests = 0;
      this.tokens = 0;
    }
    if (minute < this.minute) return;
    this.requests = Math.max(0, this.requests + requests);
    this.tokens = Math.max(0, this.tokens + tokens);
  }

  /** Takes the difference between what a reporter said before and says now. */
  reported(before: Share | undefined, now: Share): void {
    this.#reported += now.inFlight - (before?.inFlight ?? 0);
    const same = before !== undefined && before.minute === now.minute;
    this.count(
      now.minute,
      now.requests - (same ? before.requests : 0),
      now.tokens - (same ? before.tokens : 0),
    );
  }

  /** What a reporter has measured since its last report. */
  measure(sum: ReportedLoad, at: EpochMs): void {
    if (sum.measured > 0 && isTime(sum.firstTokenMs)) {
      this.firstTokenMs = peakEwma(this.firstTokenMs, this.measuredAt, sum.firstTokenMs / sum.measured, at);
      this.measuredAt = at;
      this.samples += sum.measured;
      this.#fade(at);
      this.successes += sum.measured;
    }
    if (sum.streamedTokens > 0 && isTime(sum.streamedMs)) {
      const sample = sum.streamedMs / sum.streamedTokens;
      this.perTokenMs = peakEwma(this.perTokenMs, this.#perTokenAt, sample, at);
      this.#perTokenAt = at;
    }
    if (sum.streamTimes !== undefined) {
      this.#streams ??= new TimeSketch();
      this.streamP95Ms = note(this.#streams, sum.streamTimes);
    }
    if (sum.wholeTimes !== undefined) {
      this.#wholes ??= new TimeSketch();
      this.wholeP95Ms = note(this.#wholes, sum.wholeTimes);
    }
  }

  /** A call that failed: no sample, but less to be relied on (BH-10). */
  fail(at: EpochMs): void {
    this.#fade(at);
    this.failures += 1;
  }

  #fade(at: EpochMs): void {
    this.successes = decayedCount(this.successes, this.countedAt, at);
    this.failures = decayedCount(this.failures, this.countedAt, at);
    this.countedAt = Math.max(this.countedAt, at);
  }
}

/** Read once for each report, not for each decision. */
function note(sketch: TimeSketch, times: ReadonlyMap<number, number>): number | undefined {
  for (const [bucket, count] of times) sketch.add(bucket, count);
  return sketch.p95Ms;
}

/** Others wrote it, and what is no time would never leave an average again. */
function isTime(ms: number): boolean {
  return ms >= 0 && Number.isFinite(ms);
}
