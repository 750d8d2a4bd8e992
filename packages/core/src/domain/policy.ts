import type { ErrorClassSet } from "./error-class.ts";
import type { BenchScope } from "./bench.ts";

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

export type Strategy = (typeof STRATEGIES)[number];

/** A group's routing policy with every field set: presets and overrides are already applied. Times in ms, 0 = off. */
export interface Policy {
  readonly strategy: Strategy;
  readonly zeroWeight: "off" | "standby";
  readonly skipEmbeddingsFamilies: ReadonlySet<string>;
  readonly translate: boolean;
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
  readonly bench: BenchPolicy;
  readonly fallback: FallbackPolicy;
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

/** When a deployment is benched (section 6). */
export interface BenchPolicy {
  /** Failures within the window that bench; 0 never benches by count. */
  readonly failures: number;
  readonly windowMs: number;
  readonly cooloffMs: number;
  readonly scope: BenchScope;
  readonly on: ErrorClassSet;
  /** B2: skip after a 429; `defaultMs` 0 = no such skip. */
  readonly rateLimitSkip: { readonly defaultMs: number; readonly maxMs: number };
  /** B2: every model of the provider after `quota_exhausted`; 0 = off. */
  readonly quotaCooloffMs: number;
  readonly probeShare: number;
  readonly whenAllBenched: "try_soonest" | "refuse";
}

/** Names of fallback groups in the same project (G1). */
export interface FallbackPolicy {
  readonly general: string | undefined;
  readonly context: string | undefined;
  readonly content: string | undefined;
  readonly quota: string | undefined;
}
