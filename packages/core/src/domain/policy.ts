import type { AffinityKind } from "./affinity.ts";
import type { BenchScope } from "./bench.ts";
import type { BenchTable } from "./bench-table.ts";
import type { ErrorClassSet } from "./error-class.ts";

/** How the first candidate is chosen (section 3). */
export const STRATEGIES = [
  "weighted",
  "round_robin",
  "shuffle",
  "least_busy",
  "lowest_latency",
  "lowest_cost",
  "lowest_usage",
] as const;

/** One of {@link STRATEGIES}. */
export type Strategy = (typeof STRATEGIES)[number];

/** A group's routing policy with every field set: presets and overrides are already applied. Times in ms, 0 = off. */
export interface Policy {
  readonly strategy: Strategy;
  readonly zeroWeight: "off" | "standby";
  readonly skipEmbeddingsFamilies: ReadonlySet<string>;
  readonly translate: boolean;
  /** Section 4; none when left out. */
  readonly affinity?: AffinityPolicy | undefined;
  readonly retry: RetryPolicy;
  readonly failover: FailoverPolicy;
  readonly maxAttempts: number;
  readonly requestTimeoutMs: number;
  readonly attemptTimeoutMs: number;
  /**
   * Where `attemptTimeoutMs` applies. D sets it only to fail over: `failover_possible` leaves it out on native
   * endpoints and where one candidate can serve the request.
   */
  readonly attemptTimeoutWhen: "always" | "failover_possible";
  readonly connectTimeoutMs: number;
  readonly firstTokenTimeoutMs: number;
  readonly streamIdleTimeoutMs: number;
  readonly timeoutCoversBody: boolean;
  readonly onTimeout: "failover" | "refuse";
  /** Bytes; larger bodies go to one deployment only (E8). 0 = no such bound. */
  readonly maxRetryBodyBytes: number;
  /** Second attempts against slow first tokens; off when left out. */
  readonly hedge?: HedgePolicy | undefined;
  readonly bench: BenchPolicy;
  readonly fallback: FallbackPolicy;
}

/** Which requests stay together (F3). */
export interface AffinityPolicy {
  readonly by: "none" | AffinityKind;
  /** Source of the selector under `by: expression` (F5), which is also the key of its hash in the facts. */
  readonly expression: string | undefined;
}

/** Same-deployment retries (E1, E2). */
export interface RetryPolicy {
  readonly maxRetries: number;
  readonly on: ErrorClassSet;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly multiplier: number;
  readonly jitter: boolean;
  readonly respectRetryAfter: boolean;
  /** Bound on all further calls of the group's requests, over the cluster; off when left out. */
  readonly budget?: RetryBudgetPolicy | undefined;
}

/** A group's further calls may be this share of its requests, and this many a second on top. */
export interface RetryBudgetPolicy {
  /** 0 to 1. */
  readonly share: number;
  readonly perSecond: number;
}

/** Moves to another deployment (E1, E3, E10). */
export interface FailoverPolicy {
  readonly on: ErrorClassSet;
  /** Replaces `on` on native endpoints when given. */
  readonly nativeOn: ErrorClassSet | undefined;
  /** Deployments tried per request, 0 = all. */
  readonly maxDeployments: number;
  readonly order: "weight" | "strategy";
  readonly timeoutMultiplier: number;
  readonly waitMs: number;
}

/** A second attempt where the first is slower to begin than its deployment is in 19 of 20 answers. */
export interface HedgePolicy {
  /** Hedges may be this share of the group's requests, 0 to 1. */
  readonly share: number;
}

/** When a deployment is benched (section 6). */
export interface BenchPolicy {
  /** Failures within the window that bench; 0 never benches by count. */
  readonly failures: number;
  readonly windowMs: number;
  readonly cooloffMs: number;
  readonly scope: BenchScope;
  readonly on: ErrorClassSet;
  /** B2: skip after a 429; `defaultMs` 0 = no such skip. */
  readonly rateLimitSkip: RateLimitSkipPolicy;
  /** B2: every model of the provider after `quota_exhausted`; 0 = off. */
  readonly quotaCooloffMs: number;
  readonly probeShare: number;
  /** Percentages, rising, in which traffic returns after a bench, {@link RAMP_STEP_MS} each; at once when empty. */
  readonly ramp?: readonly number[] | undefined;
  /** Classes that bench otherwise than {@link BENCH_TABLE} says. */
  readonly table?: Partial<BenchTable> | undefined;
  readonly whenAllBenched: "try_soonest" | "refuse";
}

/** B2: the skip of a provider's model after a 429. */
export interface RateLimitSkipPolicy {
  /** Without a usable `Retry-After`; 0 = no such skip. */
  readonly defaultMs: number;
  /** At most; 0 = no bound. */
  readonly maxMs: number;
  /** Instead of `defaultMs`, what this provider last asked for. */
  readonly learn?: boolean | undefined;
}

/** Names of fallback groups in the same project (G1). */
export interface FallbackPolicy {
  readonly general: string | undefined;
  readonly context: string | undefined;
  readonly content: string | undefined;
  readonly quota: string | undefined;
}
