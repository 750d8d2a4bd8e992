/** Nearest-rank percentile of values sorted upwards; NaN of none. */
export function percentile(sorted: ArrayLike<number>, percent: number): number {
  if (sorted.length === 0) return Number.NaN;
  const rank = Math.ceil((percent / 100) * sorted.length);
  return sorted[Math.min(sorted.length, Math.max(1, rank)) - 1] ?? Number.NaN;
}

/** The middle value, or the mean of both middle ones; NaN of none. */
export function median(values: readonly number[]): number {
  if (values.length === 0) return Number.NaN;
  const sorted = values.toSorted((left, right) => left - right);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/** CPU time of one round and what it was spent on. */
export interface CpuSample {
  readonly cpuMs: number;
  readonly requests: number;
}

// The kernel counts in ticks of 10 ms: below this the rounding of one round is more than 2 %.
const TRUSTED_CPU_MS = 500;

/** CPU µs per request: median over rounds, or all rounds pooled where one of them is too short for the kernel's tick. */
export function cpuUsPerRequest(samples: readonly CpuSample[]): number {
  const used = samples.filter((sample) => sample.requests > 0);
  if (used.length > 0 && used.every((sample) => sample.cpuMs >= TRUSTED_CPU_MS))
    return median(used.map((sample) => (sample.cpuMs * 1_000) / sample.requests));
  const cpuMs = used.reduce((sum, sample) => sum + sample.cpuMs, 0);
  const requests = used.reduce((sum, sample) => sum + sample.requests, 0);
  return requests === 0 ? Number.NaN : (cpuMs * 1_000) / requests;
}
