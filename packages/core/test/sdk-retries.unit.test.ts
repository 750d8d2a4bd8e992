import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decide, type ErrorClass, type RefusalCode } from "../src/index.ts";
import { brief, config, facts, group, input, key, run, T0 } from "./builders.ts";
import type { Failure, PolicyOverride } from "./builders.ts";

const DOWN: Failure = { error: "server_error" };
const LATE = { on: "all", failures: 0 } as const;

function tryOf(
  sdkRetries: number,
  deployments: readonly string[],
  policy: PolicyOverride = {},
  failures: readonly Failure[] = Array.from({ length: 10 }, () => DOWN),
) {
  const snapshot = config([group("g", deployments, { ...policy, bench: { failures: LATE.failures } })]);
  const first = input(snapshot, { request: { facts: facts({ sdkRetries }), key: key(["g"]) } });
  const all = [];
  for (let count = 0; count <= failures.length; count += 1) {
    const last = run(first, failures.slice(0, count)).at(-1);
    if (last === undefined) break;
    all.push(last);
    if (last.decision.kind === "refuse") break;
  }
  const refusal = all.at(-1)?.decision;
  return {
    calls: all.filter(({ decision }) => decision.kind === "attempt").map(brief),
    final: refusal?.kind === "refuse" ? (refusal.final ?? false) : undefined,
  };
}

describe("E4: one budget of attempts from the SDK to the provider", () => {
  it("what the SDK has tried before counts: three tries of one deployment are six calls, not nine", () => {
    const tries = [0, 1, 2].map((retries) => tryOf(retries, ["a/m"]));
    expect(tries.map(({ calls }) => calls.length)).toEqual([3, 2, 1]);
    expect(tries.map(({ final }) => final)).toEqual([false, false, false]);
  });

  it("a try that has used up its attempts tells the SDK to leave it", () => {
    const { calls, final } = tryOf(0, ["a/m", "b/m"]);
    expect(calls).toHaveLength(6);
    expect(final).toBe(true);
  });

  it("a failover stays, however often the SDK has tried", () => {
    expect(
      tryOf(9, ["a/m", "b/m"])
        .calls.map((call) => call.slice(0, 1))
        .toSorted(),
    ).toEqual(["a", "b"]);
    expect(tryOf(1, ["a/m", "b/m"], { maxAttempts: 2 }).calls).toHaveLength(2);
    expect(tryOf(1, ["a/m", "b/m"], { maxAttempts: 1 }).calls).toHaveLength(1);
  });

  it("never more calls for a later try, never none", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 4 }),
        fc.integer({ min: 1, max: 8 }),
        fc.nat({ max: 4 }),
        fc.nat({ max: 6 }),
        (count, maxAttempts, maxRetries, retries) => {
          const ids = ["a/m", "b/m", "c/m", "d/m"].slice(0, count);
          const failures = Array.from({ length: 12 }, () => DOWN);
          const calls = (sdk: number): number =>
            tryOf(sdk, ids, { maxAttempts, retry: { maxRetries } }, failures).calls.length;
          expect(calls(retries + 1)).toBeLessThanOrEqual(calls(retries));
          expect(calls(retries)).toBeGreaterThan(0);
        },
      ),
      { numRuns: 60 },
    );
  });
});

describe("x-should-retry: false is said where the same request again can't help", () => {
  const afterwards = (errors: readonly ErrorClass[], policy: PolicyOverride = {}): boolean | undefined =>
    tryOf(
      0,
      ["a/m", "b/m"],
      { retry: { maxRetries: 0 }, ...policy },
      errors.map((error) => ({ error })),
    ).final;

  it.each<[readonly ErrorClass[], boolean]>([
    [["invalid_request"], true],
    [["context_length"], true],
    [["content_filter"], true],
    [["server_error", "invalid_request"], true],
    [["auth", "not_found"], true],
    [["quota_exhausted", "quota_exhausted"], true],
    [["not_implemented", "rejected"], true],
    [["auth", "server_error"], false],
    [["overloaded", "quota_exhausted"], false],
    [["timeout", "unreachable"], false],
    [["stream_error", "invalid_response"], false],
  ])("%j: %s", (errors, final) => {
    expect(afterwards(errors)).toBe(final);
  });

  it("a retry budget that is spent is final", () => {
    const budget = { share: 0, perSecond: 0 };
    expect(afterwards(["server_error"], { retry: { maxRetries: 0, budget } })).toBe(true);
  });

  it("a wait longer than SDKs wait is final, a shorter one is not", () => {
    const waits = (retryAfterMs: number) =>
      tryOf(0, ["a/m"], { retry: { maxRetries: 0 } }, [{ error: "rate_limited", retryAfterMs }]).final;
    expect(waits(60_000)).toBe(false);
    expect(waits(61_000)).toBe(true);
  });

  it.each<[RefusalCode, boolean, () => ReturnType<typeof decide>]>([
    ["model_not_allowed", true, () => decide(input(config([group("h", ["a/m"])])))],
    ["no_deployment_available", true, () => decide(input(config([group("g", [])], [])))],
    [
      "upstream_timeout",
      false,
      () =>
        decide(
          input(config([group("g", ["a/m"])]), {
            request: { facts: facts({ deadline: T0 }), key: key(["g"]) },
          }),
        ),
    ],
  ])("%s: %s", (code, final, decided) => {
    expect(decided().decision).toMatchObject({ code, final });
  });
});
