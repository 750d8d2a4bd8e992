import { AFFINITY_KINDS, BENCH_TABLE, ERROR_CLASSES, STRATEGIES } from "@switchyard/core";
import type {
  AffinityPolicy,
  BenchPolicy,
  BenchScope,
  BenchTable,
  ErrorClass,
  ErrorClassSet,
  FailoverPolicy,
  FallbackPolicy,
  Policy,
  RetryPolicy,
} from "@switchyard/core";
import {
  AffinityBySchema,
  BenchScopeSchema,
  ErrorClassSchema,
  FailoverOrder,
  OnTimeout,
  Preset,
  StrategySchema,
  WhenAllBenched,
  ZeroWeight,
} from "@switchyard/proto/config/v1/policy";
import type {
  BenchScope as ScopeMessage,
  ClassBench,
  ErrorClassList,
  Policy as PolicyMessage,
} from "@switchyard/proto/config/v1/policy";
import { FamilySchema } from "@switchyard/proto/config/v1/family";
import type { Duration } from "@bufbuild/protobuf/wkt";
import { durationMs } from "../decode/duration.ts";
import { shortName } from "../decode/schema-forms.ts";
import { mergePolicy } from "./merge-policy.ts";

/** The core's policy of a group: preset and overrides applied, every field set. */
export function resolvePolicy(overrides: PolicyMessage | undefined): Policy {
  return toCorePolicy(mergePolicy(overrides));
}

/** The core's form of a policy that {@link mergePolicy} made; a field left unset there means off. */
function toCorePolicy(policy: PolicyMessage): Policy {
  const strategy = shortName(StrategySchema, policy.strategy);
  return {
    strategy: STRATEGIES.find((name) => name === strategy) ?? "weighted",
    zeroWeight: policy.zeroWeight === ZeroWeight.STANDBY ? "standby" : "off",
    skipEmbeddingsFamilies: new Set(
      (policy.skipEmbeddingsFamilies?.values ?? []).map((family) => shortName(FamilySchema, family)),
    ),
    translate: policy.translate ?? false,
    affinity: toAffinity(policy),
    retry: toRetry(policy),
    failover: toFailover(policy),
    maxAttempts: policy.maxAttempts ?? 1,
    requestTimeoutMs: ms(policy.requestTimeout),
    attemptTimeoutMs: ms(policy.attemptTimeout),
    attemptTimeoutWhen: policy.preset === Preset.STICKY_LIST ? "failover_possible" : "always",
    connectTimeoutMs: ms(policy.connectTimeout),
    firstTokenTimeoutMs: ms(policy.firstTokenTimeout),
    streamIdleTimeoutMs: ms(policy.streamIdleTimeout),
    timeoutCoversBody: policy.timeoutCoversBody ?? false,
    onTimeout: policy.onTimeout === OnTimeout.REFUSE ? "refuse" : "failover",
    maxRetryBodyBytes: Number(policy.maxRetryBodyBytes ?? 0n),
    hedge: policy.hedge?.enabled === true ? { share: policy.hedge.share ?? 0 } : undefined,
    bench: toBench(policy),
    fallback: toFallback(policy),
  };
}

function toAffinity({ affinity }: PolicyMessage): AffinityPolicy {
  const by = affinity === undefined ? "none" : shortName(AffinityBySchema, affinity.by);
  const kind = AFFINITY_KINDS.find((name) => name === by) ?? "none";
  return { by: kind, expression: kind === "expression" ? affinity?.expression : undefined };
}

function toRetry({ retry }: PolicyMessage): RetryPolicy {
  return {
    maxRetries: retry?.maxRetries ?? 0,
    on: classes(retry?.on),
    initialBackoffMs: ms(retry?.initialBackoff),
    maxBackoffMs: ms(retry?.maxBackoff),
    multiplier: retry?.multiplier ?? 1,
    jitter: retry?.jitter ?? false,
    respectRetryAfter: retry?.respectRetryAfter ?? false,
    budget: retry?.budget && { share: retry.budget.share, perSecond: retry.budget.perSecond },
  };
}

function toFailover({ failover }: PolicyMessage): FailoverPolicy {
  return {
    on: classes(failover?.on),
    nativeOn: failover?.nativeOn === undefined ? undefined : classes(failover.nativeOn),
    maxDeployments: failover?.maxDeployments ?? 0,
    order: failover?.order === FailoverOrder.STRATEGY ? "strategy" : "weight",
    timeoutMultiplier: failover?.timeoutMultiplier ?? 1,
    waitMs: ms(failover?.wait),
  };
}

function toBench({ bench }: PolicyMessage): BenchPolicy {
  const scope = benchScope(bench?.scope) ?? "deployment";
  return {
    failures: bench?.failures ?? 0,
    windowMs: ms(bench?.window),
    cooloffMs: ms(bench?.cooloff),
    scope,
    on: classes(bench?.on),
    rateLimitSkip: {
      defaultMs: ms(bench?.rateLimitSkip?.default),
      maxMs: ms(bench?.rateLimitSkip?.max),
      learn: bench?.rateLimitSkip?.learn ?? false,
    },
    quotaCooloffMs: ms(bench?.quotaCooloff),
    probeShare: bench?.probeShare ?? 0,
    ramp: bench?.ramp?.values ?? [],
    table: toTable(bench?.table ?? [], scope),
    whenAllBenched: bench?.whenAllBenched === WhenAllBenched.REFUSE ? "refuse" : "try_soonest",
  };
}

/** Rows that replace those of {@link BENCH_TABLE}; undefined where there are none. */
function toTable(rows: readonly ClassBench[], scope: BenchScope): Partial<BenchTable> | undefined {
  if (rows.length === 0) return undefined;
  return Object.fromEntries(
    rows.flatMap((row) => {
      const error = ERROR_CLASSES.find((name) => name === shortName(ErrorClassSchema, row.error));
      if (error === undefined) return [];
      const standard = BENCH_TABLE[error];
      const counts = row.counts ?? standard.counts;
      if (row.cooloff === undefined) return [[error, { counts, atOnce: standard.atOnce }]];
      const reason = standard.atOnce?.reason ?? "failures";
      const atOnce = { scope: benchScope(row.scope) ?? scope, reason, ms: ms(row.cooloff) };
      return [[error, { counts, atOnce: atOnce.ms === 0 ? undefined : atOnce }]];
    }),
  );
}

function benchScope(scope: ScopeMessage | undefined): BenchScope | undefined {
  const name = scope === undefined ? "" : shortName(BenchScopeSchema, scope);
  return name === "deployment" || name === "model" || name === "provider" ? name : undefined;
}

function toFallback({ fallback }: PolicyMessage): FallbackPolicy {
  return {
    general: fallback?.general || undefined,
    context: fallback?.context || undefined,
    content: fallback?.content || undefined,
    quota: fallback?.quota || undefined,
  };
}

function classes(list: ErrorClassList | undefined): ErrorClassSet {
  const names = new Set((list?.values ?? []).map((value) => shortName(ErrorClassSchema, value)));
  return new Set<ErrorClass>(ERROR_CLASSES.filter((name) => names.has(name)));
}

function ms(duration: Duration | undefined): number {
  return duration === undefined ? 0 : durationMs(duration);
}
