import type { BenchReason, BenchScope } from "./bench.ts";
import { COUNTED_CLASSES, ERROR_CLASSES, type ErrorClass } from "./error-class.ts";

/** What an error class does to health, beside what a policy counts. */
export interface ClassBench {
  /** Whether it may count towards `bench.failures`, where `bench.on` names it too (B1). */
  readonly counts: boolean;
  /** Benched at once by one failure, whatever the count. */
  readonly atOnce: AtOnce | undefined;
}

/** A bench that one failure makes (B2). */
export interface AtOnce {
  readonly scope: BenchScope;
  readonly reason: BenchReason;
  /**
   * For how long: ms, or the field of the policy that says so. `rate_limit_skip` is the provider's wait within
   * bounds, else the default or what was learned; `quota_cooloff` is that field. 0 ms = not at all.
   */
  readonly ms: number | "rate_limit_skip" | "quota_cooloff";
}

/** A row for every error class. */
export type BenchTable = Readonly<Record<ErrorClass, ClassBench>>;

const AT_ONCE: Partial<Record<ErrorClass, AtOnce>> = {
  rate_limited: { scope: "model", reason: "rate_limited", ms: "rate_limit_skip" },
  quota_exhausted: { scope: "provider", reason: "quota_exhausted", ms: "quota_cooloff" },
};

/** Section 5 and B2 as data: which error class benches what, and for how long. A policy may replace single rows. */
export const BENCH_TABLE: BenchTable = Object.fromEntries(
  ERROR_CLASSES.map((name) => [name, { counts: COUNTED_CLASSES.has(name), atOnce: AT_ONCE[name] }]),
) as BenchTable;
