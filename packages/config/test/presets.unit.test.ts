import { ERROR_CLASSES } from "@switchyard/core";
import type { Policy } from "@switchyard/core";
import { describe, expect, test } from "vitest";
import { decodeConfig, resolvePolicy } from "../src/index.ts";
import { groupWeights } from "../src/presets/weights.ts";
import { mergePolicy } from "../src/presets/merge-policy.ts";
import { AffinityBy, Weights } from "@switchyard/proto/config/v1/policy";

const PRESETS = ["group_failover", "weighted_primary", "cooldown_pool", "sticky_list"] as const;

const message = (policy: object) =>
  decodeConfig(JSON.stringify({ groups: [{ policy }] })).config?.groups[0]?.policy;
const resolve = (policy: object): Policy => resolvePolicy(message(policy));
const all = PRESETS.map((preset) => resolve({ preset }));
const merged = PRESETS.map((preset) => mergePolicy(message({ preset })));
const sorted = (names: Iterable<string>) => [...names].toSorted();

const RETRYABLE = [
  "conflict",
  "overloaded",
  "rate_limited",
  "request_timeout",
  "server_error",
  "timeout",
  "unreachable",
];
const B_MOVES = [
  "unreachable",
  "overloaded",
  "server_error",
  "not_implemented",
  "stream_error",
  "invalid_response",
  "rate_limited",
  "quota_exhausted",
];
const B_BENCHES = [
  "unreachable",
  "overloaded",
  "server_error",
  "not_implemented",
  "stream_error",
  "invalid_response",
  "timeout",
];
const UNMOVED = ["invalid_request", "payload_too_large", "context_length", "content_filter", "cancelled"];
const A_MOVES = ERROR_CLASSES.filter((name) => !UNMOVED.includes(name));
const COUNTED = A_MOVES.filter((name) => name !== "not_ready");
const MIB = 1024 * 1024;
const ADVANCED = { initialBackoffMs: 250, maxBackoffMs: 8000, multiplier: 2, jitter: true };

describe("section 10: each preset's cell", () => {
  test.each<
    [field: string, cell: (policy: Policy) => unknown, A: unknown, B: unknown, C: unknown, D: unknown]
  >([
    ["strategy", (p) => p.strategy, "weighted", "weighted", "shuffle", "round_robin"],
    ["translate", (p) => p.translate, true, true, true, false],
    ["zero_weight", (p) => p.zeroWeight, "off", "standby", "off", "off"],
    ["same-deployment retries", (p) => p.retry.maxRetries, 2, 0, 0, 2],
    [
      "retried classes",
      (p) => (p.retry.maxRetries === 0 ? [] : sorted(p.retry.on)),
      RETRYABLE,
      [],
      [],
      ["rate_limited"],
    ],
    [
      "back-off",
      ({ retry: r }) => ({
        initialBackoffMs: r.initialBackoffMs,
        maxBackoffMs: r.maxBackoffMs,
        multiplier: r.multiplier,
        jitter: r.jitter,
      }),
      ADVANCED,
      ADVANCED,
      ADVANCED,
      { ...ADVANCED, maxBackoffMs: 500, jitter: false },
    ],
    ["failover.wait", (p) => p.failover.waitMs, 0, 0, 0, 0],
    [
      "failover.on",
      (p) => sorted(p.failover.on),
      sorted(A_MOVES),
      sorted(B_MOVES),
      sorted([...B_MOVES, "timeout"]),
      sorted([...B_MOVES, "timeout"]),
    ],
    [
      "failover.native_on",
      (p) => p.failover.nativeOn && sorted(p.failover.nativeOn),
      undefined,
      undefined,
      undefined,
      ["quota_exhausted", "rate_limited"],
    ],
    ["hedge", (p) => p.hedge, undefined, undefined, undefined, undefined],
    ["failover.order", (p) => p.failover.order, "weight", "weight", "strategy", "strategy"],
    [
      "bench.on",
      (p) => sorted(p.bench.on),
      sorted(COUNTED),
      sorted(B_BENCHES),
      sorted([...B_BENCHES, "rate_limited", "quota_exhausted"]),
      [],
    ],
    ["respect_retry_after", (p) => p.retry.respectRetryAfter, true, false, false, false],
    ["skip after a 429 (B2)", (p) => p.bench.rateLimitSkip.defaultMs, 0, 10_000, 10_000, 0],
    ["longest skip after a 429 (B2)", (p) => p.bench.rateLimitSkip.maxMs, 60_000, 60_000, 60_000, 60_000],
    [
      "skip_embeddings_families",
      (p) => sorted(p.skipEmbeddingsFamilies),
      ["anthropic", "azure_openai", "bedrock", "vertex"],
      [],
      [],
      [],
    ],
    ["max_attempts", (p) => p.maxAttempts, 6, 2, 3, 6],
    ["max_deployments", (p) => p.failover.maxDeployments, 0, 2, 0, 2],
    ["request_timeout", (p) => p.requestTimeoutMs, 60_000, 60_000, 60_000, 0],
    ["attempt_timeout", (p) => p.attemptTimeoutMs, 0, 60_000, 0, 60_000],
    [
      "attempt_timeout applies",
      (p) => p.attemptTimeoutWhen,
      "always",
      "always",
      "always",
      "failover_possible",
    ],
    ["timeout_multiplier", (p) => p.failover.timeoutMultiplier, 1, 1, 1, 2],
    ["timeout_covers_body", (p) => p.timeoutCoversBody, false, false, false, true],
    ["on_timeout", (p) => p.onTimeout, "failover", "refuse", "failover", "failover"],
    ["bench.failures", (p) => p.bench.failures, 3, 5, 1, 0],
    ["bench.window", (p) => p.bench.windowMs, 60_000, 30_000, 60_000, 60_000],
    ["bench.cooloff", (p) => p.bench.cooloffMs, 30_000, 30_000, 60_000, 30_000],
    ["bench.scope", (p) => p.bench.scope, "deployment", "provider", "deployment", "deployment"],
    ["quota_cooloff", (p) => p.bench.quotaCooloffMs, 0, 60_000, 0, 0],
    ["probe_share", (p) => p.bench.probeShare, 0, 0, 0.05, 0],
    ["when_all_benched", (p) => p.bench.whenAllBenched, "try_soonest", "refuse", "refuse", "try_soonest"],
    ["max_retry_body_bytes", (p) => p.maxRetryBodyBytes, 0, 8 * MIB, 0, 0],
    ["E5 connect_timeout", (p) => p.connectTimeoutMs, 10_000, 10_000, 10_000, 10_000],
    ["E5 first_token_timeout", (p) => p.firstTokenTimeoutMs, 0, 0, 0, 0],
    ["E5 stream_idle_timeout", (p) => p.streamIdleTimeoutMs, 300_000, 300_000, 300_000, 300_000],
  ])("%s", (_, cell, ...expected) => {
    expect(all.map(cell)).toEqual(expected);
  });

  test("weights", () => {
    expect(merged.map(({ weights }) => weights)).toEqual([
      Weights.RELATIVE,
      Weights.PERCENT,
      Weights.RELATIVE,
      Weights.RELATIVE,
    ]);
  });

  test("affinity", () => {
    expect(merged.map(({ affinity }) => affinity?.by)).toEqual([
      AffinityBy.NONE,
      AffinityBy.SESSION,
      AffinityBy.NONE,
      AffinityBy.NONE,
    ]);
  });

  test("K3 the cache is off, with a lifetime of 300 s", () => {
    expect(merged.map(({ cache }) => [cache?.enabled, cache?.lifetime?.seconds])).toEqual(
      PRESETS.map(() => [false, 300n]),
    );
  });
});

test("group_failover is the preset of a group that names none", () => {
  expect(resolvePolicy(undefined)).toEqual(all[0]);
  expect(resolve({})).toEqual(all[0]);
});

test("fields beside the preset override one by one, nested ones too", () => {
  const policy = resolve({
    preset: "weighted_primary",
    translate: false,
    bench: { failures: 9, rate_limit_skip: { max: "20s" } },
    retry: { initial_backoff: "1s" },
  });
  const preset = resolve({ preset: "weighted_primary" });
  expect(policy).toEqual({
    ...preset,
    translate: false,
    bench: {
      ...preset.bench,
      failures: 9,
      rateLimitSkip: { defaultMs: 10_000, maxMs: 20_000, learn: false },
    },
    retry: { ...preset.retry, initialBackoffMs: 1000 },
  });
});

test("every part of section 4 and 6 that is off in the presets can be switched on", () => {
  const policy = resolve({
    affinity: { by: "expression", expression: "request.user.sub" },
    retry: { budget: { share: 0.2, per_second: 10 } },
    bench: { ramp: [5, 25, 50], rate_limit_skip: { learn: true }, probe_share: 0.1 },
  });
  expect(policy.affinity).toEqual({ by: "expression", expression: "request.user.sub" });
  expect(policy.retry.budget).toEqual({ share: 0.2, perSecond: 10 });
  expect(policy.bench).toMatchObject({ ramp: [5, 25, 50], probeShare: 0.1, rateLimitSkip: { learn: true } });
  expect(all.map(({ affinity }) => affinity?.by)).toEqual(["none", "session", "none", "none"]);
  expect(all.map(({ retry }) => retry.budget)).toEqual(PRESETS.map(() => undefined));
});

test("a bench table replaces single rows of the standard one", () => {
  const { bench } = resolve({
    bench: {
      scope: "provider",
      table: [
        { error: "auth", cooloff: "60s" },
        { error: "rate_limited", cooloff: "2s", scope: "deployment", counts: false },
        { error: "quota_exhausted", cooloff: "0s" },
        { error: "not_found", counts: false },
      ],
    },
  });
  expect(bench.table).toEqual({
    auth: { counts: true, atOnce: { scope: "provider", reason: "failures", ms: 60_000 } },
    rate_limited: { counts: false, atOnce: { scope: "deployment", reason: "rate_limited", ms: 2_000 } },
    quota_exhausted: { counts: true, atOnce: undefined },
    not_found: { counts: false, atOnce: undefined },
  });
  expect(all.map((preset) => preset.bench.table)).toEqual(PRESETS.map(() => undefined));
});

test("a list that is present replaces the preset's, even when empty; zero and false override too", () => {
  const policy = resolve({
    preset: "group_failover",
    skip_embeddings_families: [],
    failover: { on: [], native_on: [] },
    bench: { failures: 0, on: ["timeout"], window: "0s" },
    retry: { jitter: false },
  });
  expect([...policy.skipEmbeddingsFamilies]).toEqual([]);
  expect([...policy.failover.on]).toEqual([]);
  expect(policy.failover.nativeOn).toEqual(new Set());
  expect(policy.bench).toMatchObject({ failures: 0, windowMs: 0, on: new Set(["timeout"]) });
  expect(policy.retry.jitter).toBe(false);
});

test("overriding one group's policy leaves the preset as it was", () => {
  resolve({ preset: "cooldown_pool", bench: { on: [], failures: 7 }, failover: { order: "weight" } });
  expect(resolve({ preset: "cooldown_pool" })).toEqual(all[2]);
});

test("fallback groups", () => {
  expect(resolve({ fallback: { general: "a", quota: "b" } }).fallback).toEqual({
    general: "a",
    context: undefined,
    content: undefined,
    quota: "b",
  });
});

test("a time below a millisecond is not off", () => {
  expect(resolve({ request_timeout: "0.0001s" }).requestTimeoutMs).toBe(1);
});

test("hedge: a share of 2 % unless another is said", () => {
  expect(resolve({ hedge: { enabled: true } }).hedge).toEqual({ share: 0.02 });
  expect(resolve({ hedge: { enabled: true, share: 0.5 } }).hedge).toEqual({ share: 0.5 });
  expect(resolve({ hedge: { share: 0.5 } }).hedge).toBeUndefined();
});

describe("K6 weights", () => {
  const weights = (policy: object, ...given: (number | undefined)[]) => {
    const deployments = given.map((weight) => ({
      provider: "p",
      model: "m",
      ...(weight === undefined ? {} : { weight }),
    }));
    const group = decodeConfig(JSON.stringify({ groups: [{ policy, deployments }] })).config?.groups[0];
    return group && groupWeights(group);
  };

  test("one left out is 1", () => {
    expect(weights({}, undefined, 0, 5)).toEqual([1, 0, 5]);
  });

  test("under percent, left out is 100 in the first place and 0 after it", () => {
    expect(weights({ weights: "percent" }, undefined, undefined, undefined)).toEqual([100, 0, 0]);
    expect(weights({ preset: "weighted_primary" }, 70, 30, undefined)).toEqual([70, 30, 0]);
  });

  test("weights: relative beside weighted_primary", () => {
    expect(weights({ preset: "weighted_primary", weights: "relative" }, undefined, 7)).toEqual([1, 7]);
  });
});
