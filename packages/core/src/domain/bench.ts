import type { EpochMs } from "./ports.ts";

/** What a bench covers: a deployment in its group, a provider's model in every group, or a whole provider. */
export type BenchScope = "deployment" | "model" | "provider";

/**
 * Why something is benched. `manual` is a person's; `retry_after` is E2's "benched until then";
 * `rate_limited` and `quota_exhausted` are B2's skips; `failures` is B1's count.
 */
export type BenchReason = "failures" | "rate_limited" | "quota_exhausted" | "retry_after" | "manual";

/** A time during which a scope is skipped. */
export interface Bench {
  /** Scope key, see {@link deploymentScope}, {@link modelScope}, {@link providerScope}. */
  readonly key: string;
  readonly scope: BenchScope;
  readonly until: EpochMs;
  /** When the running bench began; moving its end does not change it. */
  readonly since: EpochMs;
  readonly reason: BenchReason;
  /** Key of the group whose policy made it; absent for benches made by hand. */
  readonly group: string | undefined;
  /** Steps in which traffic returns when it ends, see {@link Ramp}; 0 or absent = at once. */
  readonly rampSteps?: number | undefined;
  /** Name of the person's key that made it, of a bench made by hand; it takes no part in any decision. */
  readonly by?: string | undefined;
}

/** B4: the router that may probe a bench, one probe at a time, so that there is one in the whole cluster. */
export interface ProbeLease {
  /** Name of the router. */
  readonly router: string;
  readonly until: EpochMs;
}

/** Traffic that returns in steps after a bench: step i, of {@link RAMP_STEP_MS}, began at `from + i * RAMP_STEP_MS`. */
export interface Ramp {
  readonly from: EpochMs;
  /** When the bench before it began, or when a probe ended it: what a person ended since then has no ramp. */
  readonly since: EpochMs;
  /** Steps after which all traffic is back. */
  readonly steps: number;
  /** Key of the group whose policy made the bench before it. */
  readonly group: string | undefined;
}

/** How long traffic stays at one step of a ramp, ms. */
export const RAMP_STEP_MS = 10_000;

/**
 * The benches on one scope key. Those made by hand stand apart from those that a policy made: a group whose
 * bench is off heeds only the first (B1), and one must not hide the other.
 */
export interface BenchEntry {
  readonly policy: Bench | undefined;
  readonly manual: Bench | undefined;
  /**
   * When a successful probe or a person last ended the policy's bench, and when a person last ended the one
   * made by hand; 0 = never. Benches and failures from before that time are void, so that neither a late
   * outcome nor the older snapshot of another replica brings back what was ended.
   */
  readonly policyClearedAt: EpochMs;
  readonly manualClearedAt: EpochMs;
  /** B4: who may probe the policy's bench. */
  readonly probe?: ProbeLease | undefined;
  /** What follows the policy's last bench; at most one of the two stands. */
  readonly ramp?: Ramp | undefined;
}

/** All benches known, by scope key. Replaced, never edited (invariant 8). */
export interface HealthSnapshot {
  readonly version: number;
  readonly benches: ReadonlyMap<string, BenchEntry>;
}

/** No bench at all. */
export const EMPTY_HEALTH: HealthSnapshot = { version: 0, benches: new Map() };

/** Key of a deployment in its group; `group` is a {@link Group.key}. */
export function deploymentScope(group: string, deployment: string): string {
  return `d:${group}:${deployment}`;
}

/** Key of a provider's model, in every group. */
export function modelScope(provider: string, model: string): string {
  return `m:${provider}/${model}`;
}

/** Key of a whole provider account. */
export function providerScope(provider: string): string {
  return `p:${provider}`;
}
