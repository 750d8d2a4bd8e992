import type { EpochMs } from "../domain/ports.ts";

/** Most failures that one window remembers: a `bench.failures` above it benches at this count. */
export const MAX_WINDOW_FAILURES = 1_000;

/**
 * The latest failures of one scope (B1), oldest first. A window slides: successes do not empty it, only time, a
 * successful probe and a person do.
 *
 * Each failure keeps the id of its decision, so that a repeated outcome counts once. No other memory of ids is
 * needed: an outcome that fell out of a full window is older than all in it and falls out again, and what it would
 * bench ends when it ended the first time.
 */
export interface FailureWindow {
  readonly failures: readonly { readonly at: EpochMs; readonly decision: string }[];
  /** Most failures to keep: the highest `bench.failures` of the policies that count here. */
  readonly size: number;
  /** When the last of them has slid out: the window can be forgotten then. */
  readonly staleAt: EpochMs;
}

/** A window after a failure, and when `needed` failures were last within `windowMs`; undefined when never. */
export interface WindowStep {
  readonly window: FailureWindow;
  readonly reachedAt: EpochMs | undefined;
}

/**
 * Adds a failure in order of time, for outcomes come late. A decision that the window holds already changes nothing
 * and reaches nothing: what it made was made the first time.
 *
 * @param clearedAt failures until then are void: a probe or a person, here or at another replica, ended the bench
 */
export function addFailure(
  window: FailureWindow | undefined,
  failure: { readonly at: EpochMs; readonly decision: string },
  needed: number,
  windowMs: number,
  clearedAt: EpochMs,
): WindowStep {
  const all = window?.failures ?? [];
  const known = clearedAt === 0 ? all : all.filter((one) => one.at > clearedAt);
  if (window !== undefined && known.some((one) => one.decision === failure.decision)) {
    return { window, reachedAt: undefined };
  }
  const size = Math.min(MAX_WINDOW_FAILURES, Math.max(needed, window?.size ?? 0));
  let place = known.length;
  while (place > 0 && (known[place - 1]?.at ?? 0) > failure.at) place -= 1;
  const failures = [...known.slice(0, place), failure, ...known.slice(place)];
  const staleAt = Math.max(window?.staleAt ?? 0, failure.at + windowMs);
  return {
    window: { failures: failures.slice(-size), size, staleAt },
    reachedAt: lastReached(failures, Math.min(needed, MAX_WINDOW_FAILURES), windowMs),
  };
}

function lastReached(
  failures: FailureWindow["failures"],
  needed: number,
  windowMs: number,
): EpochMs | undefined {
  for (let end = failures.length - 1; end >= needed - 1; end -= 1) {
    const last = failures[end];
    const first = failures[end - needed + 1];
    if (last !== undefined && first !== undefined && last.at - first.at < windowMs) return last.at;
  }
  return undefined;
}
