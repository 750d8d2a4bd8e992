import { minuteOf } from "../domain/load.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { LoadReport, ReportedLoad } from "./report.ts";
import { timeBucket } from "./time-sketch.ts";

/** What a call is expected to use, as it begins. */
export interface BegunCall {
  /** Load key: `DeploymentScopes.model`. */
  readonly load: string;
  /** Estimate of its tokens, held until they are known. */
  readonly tokens: number;
  /** E9: only in flight; it uses no limit of ours and measures nothing that other calls would meet. */
  readonly ownKey: boolean;
}

/** How a call ended. */
export interface EndedCall {
  /** Whether it went well: only then is it measured (BH-10). */
  readonly served: boolean;
  /** Time to response headers or, of a stream, to the first token, ms. */
  readonly firstTokenMs: number;
  /** Tokens used, in and out; 0 where the provider did not say. */
  readonly tokens: number;
  /** Hedging: how long its beginning took, where the times of its group's calls are wanted one by one. */
  readonly begun?: BegunTime | undefined;
  /** Output tokens after the first, and ms that they took; 0 for what does not stream. */
  readonly streamedTokens: number;
  readonly streamedMs: number;
}

/** How long a call took to begin its answer; of one that was overtaken, how long it had taken by then without. */
export interface BegunTime {
  readonly streams: boolean;
  readonly ms: number;
}

/** A call under way; ending it twice changes nothing (invariant 3). */
export interface CountedCall {
  end(ended: EndedCall, now: EpochMs): void;
}

/** How a call ends that was cut short, that failed, or that nobody waited for. */
export const NOT_SERVED: EndedCall = {
  served: false,
  firstTokenMs: 0,
  tokens: 0,
  streamedTokens: 0,
  streamedMs: 0,
};

/** A forwarder's side of the load: counts its calls, and says every so often what routers should know. */
export class LoadCounters {
  readonly #reporter: string;
  readonly #sums = new Map<string, Sum>();
  #sequence = 0;
  #changed = false;

  /**
   * @param reporter unique for each start of a process
   */
  constructor(reporter: string) {
    this.#reporter = reporter;
  }

  /** A decision to call was received. */
  begin({ load, tokens, ownKey }: BegunCall, now: EpochMs): CountedCall {
    const sum = this.#sumOf(load, now);
    sum.inFlight += 1;
    if (!ownKey) {
      sum.requests += 1;
      sum.held += tokens;
    }
    let open = true;
    return {
      end: (ended, at) => {
        if (!open) return;
        open = false;
        const current = this.#sumOf(load, at);
        current.inFlight -= 1;
        if (ownKey) return;
        current.held -= tokens;
        current.tokens += ended.tokens;
        if (ended.begun !== undefined) noteBegun(current, ended.begun);
        if (!ended.served) return;
        current.measured += 1;
        current.firstTokenMs += ended.firstTokenMs;
        current.streamedTokens += ended.streamedTokens;
        current.streamedMs += ended.streamedMs;
      },
    };
  }

  /** Calls under way, for metrics and tests. */
  get inFlight(): number {
    let total = 0;
    for (const { inFlight } of this.#sums.values()) total += inFlight;
    return total;
  }

  /** To be sent to every router every {@link REPORT_EVERY_MS}; undefined where there is nothing to say. */
  report(now: EpochMs): LoadReport | undefined {
    const minute = minuteOf(now);
    const deployments: ReportedLoad[] = [];
    for (const [load, sum] of this.#sums) {
      if (sum.inFlight === 0 && sum.minute < minute && sum.measured === 0) {
        this.#sums.delete(load);
        continue;
      }
      rollTo(sum, minute);
      const { inFlight, requests, measured, firstTokenMs, streamedTokens, streamedMs } = sum;
      const { streamTimes, wholeTimes } = sum;
      const tokens = sum.tokens + sum.held;
      const counted = { load, inFlight, minute, requests, tokens };
      const spent = { measured, firstTokenMs, streamedTokens, streamedMs, streamTimes, wholeTimes };
      deployments.push({ ...counted, ...spent });
    }
    // Also the last call's end must be said, and while calls run silence would mean that none do.
    if (!this.#changed && deployments.every(({ inFlight }) => inFlight === 0)) return undefined;
    this.#changed = false;
    this.#sequence += 1;
    for (const sum of this.#sums.values()) {
      sum.measured = 0;
      sum.firstTokenMs = 0;
      sum.streamedTokens = 0;
      sum.streamedMs = 0;
      sum.streamTimes = undefined;
      sum.wholeTimes = undefined;
    }
    return { reporter: this.#reporter, sequence: this.#sequence, deployments };
  }

  #sumOf(load: string, now: EpochMs): Sum {
    this.#changed = true;
    let sum = this.#sums.get(load);
    if (sum === undefined) {
      sum = newSum(minuteOf(now));
      this.#sums.set(load, sum);
    }
    rollTo(sum, minuteOf(now));
    return sum;
  }
}

interface Sum {
  inFlight: number;
  minute: number;
  requests: number;
  /** Of ended calls of the minute. */
  tokens: number;
  /** Estimates of those in flight. */
  held: number;
  measured: number;
  firstTokenMs: number;
  streamedTokens: number;
  streamedMs: number;
  streamTimes: Map<number, number> | undefined;
  wholeTimes: Map<number, number> | undefined;
}

function noteBegun(sum: Sum, { streams, ms }: BegunTime): void {
  const bucket = timeBucket(ms);
  const times = streams ? (sum.streamTimes ??= new Map()) : (sum.wholeTimes ??= new Map());
  times.set(bucket, (times.get(bucket) ?? 0) + 1);
}

function newSum(minute: number): Sum {
  const measured = { measured: 0, firstTokenMs: 0, streamedTokens: 0, streamedMs: 0 };
  const times = { streamTimes: undefined, wholeTimes: undefined };
  return { inFlight: 0, minute, requests: 0, tokens: 0, held: 0, ...measured, ...times };
}

function rollTo(sum: Sum, minute: number): void {
  if (sum.minute >= minute) return;
  sum.minute = minute;
  sum.requests = 0;
  sum.tokens = 0;
}
