import { describe, expect, it } from "vitest";
import {
  decide,
  type DecideInput,
  type ErrorClass,
  type Group,
  MERIT_CLASSES,
  type RequestFacts,
  RETRYABLE_CLASSES,
} from "../src/index.ts";
import { after, benched, brief, config, deployment, facts, group, input, key, run, T0 } from "./builders.ts";
import type { Failure, PolicyOverride } from "./builders.ts";

/** `a` is always picked first: `b` takes one in a million. */
function pair(override: PolicyOverride = {}): Group {
  const retry = { jitter: false, ...override.retry };
  return group("g", [deployment("a/m", { weight: 1_000_000 }), deployment("b/m")], { ...override, retry });
}

const once = { maxRetries: 0 };

function first(
  groups: readonly Group[],
  request: Partial<RequestFacts> = {},
  more: Partial<DecideInput> = {},
) {
  return input(config(groups), { request: { facts: facts(request), key: key(["g"]) }, ...more });
}

function walk(groups: readonly Group[], failures: readonly Failure[], request: Partial<RequestFacts> = {}) {
  return run(first(groups, request), failures).map(brief);
}

const fail = (error: ErrorClass, count = 1): Failure[] => Array.from({ length: count }, () => ({ error }));

describe("same deployment, next deployment, stop", () => {
  it("E2, E3 retries with doubling back-off, then moves, then gives up", () => {
    const delays = ["a/m", "a/m +250", "a/m +500", "b/m", "b/m +250", "b/m +500", "502 upstream_unreachable"];
    expect(walk([pair()], fail("server_error", 6))).toEqual(delays);
  });

  it("E2 jitter takes between half and all of the back-off", () => {
    const jittered = first([pair({ retry: { jitter: true } })]);
    const delays = Array.from({ length: 200 }, (_, seed) => {
      const { decision } = run({ ...jittered, seed }, fail("overloaded"))[1] ?? decide(jittered);
      return decision.kind === "attempt" ? decision.delayMs : -1;
    });
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(125);
    expect(Math.max(...delays)).toBeLessThanOrEqual(250);
    expect(new Set(delays).size).toBeGreaterThan(50);
  });

  it.each([...RETRYABLE_CLASSES])("E1 %s is retried", (error) => {
    expect(walk([pair()], fail(error))[1]).toBe("a/m +250");
  });

  it.each([
    "quota_exhausted",
    "not_implemented",
    "stream_error",
    "invalid_response",
    "auth",
    "permission",
  ] as const)("E1 %s moves at once, even where retry.on names it", (error) => {
    expect(walk([pair({ retry: { on: new Set([error]) } })], fail(error))[1]).toBe("b/m");
  });

  it.each([...MERIT_CLASSES])("E1 %s is returned, even where the policy would move it", (error) => {
    const eager = pair({ failover: { on: new Set([error]) }, fallback: { general: "backup" } });
    const all = run(first([eager, group("backup", ["z/m"])]), fail(error));
    expect(all[1]?.decision).toMatchObject({ kind: "refuse", exhausted: true });
  });

  it("E1 a class that failover.on leaves out is returned, without a hop", () => {
    const strict = pair({
      retry: once,
      failover: { on: new Set<ErrorClass>(["overloaded"]) },
      fallback: { general: "backup" },
    });
    const all = run(first([strict, group("backup", ["z/m"])]), fail("auth"));
    expect(all[1]?.decision).toMatchObject({ kind: "refuse", exhausted: true });
  });

  it("E1 a same-deployment retry stops once a bench is seen", () => {
    const start = first([pair()]);
    const next = after(start, decide(start), { error: "server_error" });
    expect(brief(decide({ ...next, health: benched({ "d:p/g:a/m": T0 + 60_000 }) }))).toBe("b/m");
  });

  it("E10 native_on replaces on for native endpoints", () => {
    const native = new Set(["chat", "messages"] as const);
    const failover = {
      on: new Set<ErrorClass>(["server_error"]),
      nativeOn: new Set<ErrorClass>(["rate_limited"]),
    };
    const deployments = [deployment("a/m", { native, weight: 1_000_000 }), deployment("b/m", { native })];
    const both = group("g", deployments, { retry: once, failover });
    expect(walk([both], fail("server_error"))[1]).toBe("b/m");
    expect(walk([both], fail("server_error"), { endpoint: "messages" })[1]).toBe("502 upstream_unreachable");
    expect(walk([both], fail("rate_limited"), { endpoint: "messages" })[1]).toBe("b/m");
  });

  it("a cancelled request never goes on (BH-18)", () => {
    expect(walk([pair()], fail("cancelled"))[1]).toBe("499 client_closed");
  });

  it("C waits failover.wait before the next deployment, and does not start what it has no time for", () => {
    expect(walk([pair({ retry: once, failover: { waitMs: 700 } })], fail("overloaded"))[1]).toBe("b/m +700");
    const late = pair({ retry: once, failover: { waitMs: 60_000 } });
    expect(walk([late], fail("overloaded"))[1]).toBe("502 upstream_unreachable");
  });
});

describe("Retry-After", () => {
  it("E2 replaces the back-off, counted from the end of the attempt", () => {
    expect(walk([pair()], [{ error: "rate_limited", retryAfterMs: 3_000 }])[1]).toBe("a/m +3000");
  });

  it("E2 is not respected where the policy says not", () => {
    const deaf = pair({ retry: { respectRetryAfter: false } });
    expect(walk([deaf], [{ error: "rate_limited", retryAfterMs: 3_000 }])[1]).toBe("a/m +250");
  });

  it("E2 longer than the time left: benched until then, the outcome says so, and the next serves", () => {
    const start = first([pair({ bench: { scope: "model" } })]);
    const next = after(start, decide(start), { error: "rate_limited", retryAfterMs: 90_000 });
    const decided = decide(next);
    expect(brief(decided)).toBe("b/m");
    expect(decided.lastOutcome).toBe("benched");
    expect(decided.effects).toContainEqual({
      kind: "bench",
      bench: {
        key: "m:a/m",
        scope: "model",
        until: next.now + 90_000,
        since: next.now,
        reason: "retry_after",
        group: "p/g",
      },
    });
  });

  it("E2 the bench is kept when nothing is left to try", () => {
    const decided = run(first([group("g", ["a/m"])]), [{ error: "rate_limited", retryAfterMs: 90_000 }])[1];
    expect(decided?.decision).toMatchObject({ kind: "refuse", exhausted: true });
    expect(decided?.effects.map((effect) => effect.kind)).toEqual(["bench"]);
  });

  it("E9 a wait asked of a caller's own account benches nothing", () => {
    const own = first([group("g", ["a/m"])], { ownKeyProvider: "a" });
    expect(run(own, [{ error: "rate_limited", retryAfterMs: 90_000 }])[1]?.effects).toEqual([]);
  });
});

describe("limits of a request", () => {
  it("E4 stops at max_attempts", () => {
    expect(walk([pair({ maxAttempts: 2 })], fail("server_error", 2))).toEqual([
      "a/m",
      "a/m +250",
      "502 upstream_unreachable",
    ]);
  });

  it("E4 stops when request_timeout has run out, and gives an attempt only what is left", () => {
    const start = first([pair({ requestTimeoutMs: 10_000 })]);
    expect(decide(start).decision).toMatchObject({ timeoutMs: 10_000 });
    const next = after(start, decide(start), { error: "timeout", tookMs: 9_500 });
    expect(decide(next).decision).toMatchObject({ delayMs: 250, timeoutMs: 250 });
    const late = after(start, decide(start), { error: "timeout", tookMs: 10_000 });
    expect(brief(decide(late))).toBe("504 upstream_timeout");
  });

  it("the caller's own deadline bounds it too", () => {
    expect(decide(first([pair()], { deadline: T0 + 1_234 })).decision).toMatchObject({ timeoutMs: 1_234 });
    expect(brief(decide(first([pair()], { deadline: T0 })))).toBe("504 upstream_timeout");
  });

  it("a retry whose delay does not fit is not made", () => {
    const single = group("g", ["a/m"], { requestTimeoutMs: 200, retry: { jitter: false } });
    expect(walk([single], fail("overloaded"))[1]).toBe("502 upstream_unreachable");
  });

  it("E8 on_timeout refuse: a time-out is a 504 and is not retried", () => {
    const refuse = pair({ onTimeout: "refuse" });
    expect(walk([refuse], fail("timeout"))[1]).toBe("504 upstream_timeout");
  });

  it("E8 a body over max_retry_body_bytes goes to one deployment only", () => {
    const bounded = pair({ retry: once, maxRetryBodyBytes: 1_000, fallback: { general: "backup" } });
    const groups = [bounded, group("backup", ["z/m"])];
    expect(walk(groups, fail("overloaded"), { bodyBytes: 1_001 })[1]).toBe("502 upstream_unreachable");
    expect(walk(groups, fail("overloaded"), { bodyBytes: 1_000 })[1]).toBe("b/m");
  });

  it("E10 max_deployments bounds deployments, across groups", () => {
    const bounded = pair({ retry: once, failover: { maxDeployments: 2 }, fallback: { general: "backup" } });
    const groups = [bounded, group("backup", ["z/m"])];
    expect(walk(groups, fail("overloaded", 2))[2]).toBe("502 upstream_unreachable");
  });

  it("E11 no second deployment for stored responses and count_tokens", () => {
    const native = new Set(["responses", "count_tokens"] as const);
    const stores = true;
    // Two models of one account, so that a stored response could be read through either.
    const deployments = [
      deployment("a/m", { native, stores, weight: 1_000_000 }),
      deployment("a/n", { native, stores }),
    ];
    const both = group("g", deployments, { retry: once });
    for (const request of [
      { endpoint: "responses", storedResponse: true } as const,
      { endpoint: "count_tokens" } as const,
    ]) {
      expect(walk([both], fail("overloaded"), request)[1]).toBe("502 upstream_unreachable");
    }
    expect(walk([both], fail("overloaded"), { endpoint: "responses" })[1]).toBe("a/n");
  });

  it("E10 the next deployment gets a longer time; D sets none on native endpoints or with one candidate", () => {
    const native = new Set(["chat", "responses"] as const);
    const policy: PolicyOverride = {
      retry: { maxRetries: 1, jitter: false },
      requestTimeoutMs: 0,
      attemptTimeoutMs: 60_000,
      attemptTimeoutWhen: "failover_possible",
      failover: { timeoutMultiplier: 2 },
    };
    const both = group(
      "g",
      [deployment("a/m", { native, weight: 9 }), deployment("b/m", { native })],
      policy,
    );
    const timeouts = run(first([both]), fail("overloaded", 3)).map(({ decision }) =>
      decision.kind === "attempt" ? decision.timeoutMs : decision.code,
    );
    expect(timeouts).toEqual([60_000, 60_000, 120_000, 120_000]);
    expect(decide(first([both], { endpoint: "responses" })).decision).toMatchObject({ timeoutMs: 0 });
    const single = group("g", [deployment("a/m"), deployment("b/m", { paused: true })], policy);
    expect(decide(first([single])).decision).toMatchObject({ timeoutMs: 0 });
  });

  it("E7 nobody answered: 504 after a time-out, 502 otherwise", () => {
    const single = group("g", ["a/m"], { retry: once });
    expect(walk([single], fail("timeout"))[1]).toBe("504 upstream_timeout");
    expect(walk([single], fail("unreachable"))[1]).toBe("502 upstream_unreachable");
    expect(walk([single], fail("invalid_response"))[1]).toBe("502 upstream_invalid_response");
  });
});

describe("fallback groups", () => {
  const g = (name: string, upstream: string, fallback: PolicyOverride["fallback"] = {}) =>
    group(name, [upstream], { retry: once, fallback });

  it("E3, G1, G2 hops to the general fallback when the group is exhausted", () => {
    const all = run(first([g("g", "a/m", { general: "h" }), g("h", "b/m")]), fail("server_error", 2));
    expect(all.map(brief)).toEqual(["a/m", "b/m", "502 upstream_unreachable"]);
    expect(all[1]?.decision).toMatchObject({ fallback: "general", step: "hop" });
    expect(all[1]?.history.hops).toEqual([{ group: "p/h", kind: "general" }]);
  });

  it("G4 context and content serve an error that would be returned", () => {
    const groups = [
      g("g", "a/m", { context: "long", content: "lenient" }),
      g("long", "l/m"),
      g("lenient", "c/m"),
    ];
    expect(walk(groups, fail("context_length"))[1]).toBe("l/m");
    expect(walk(groups, fail("content_filter"))[1]).toBe("c/m");
    expect(walk(groups, fail("invalid_request"))[1]).toBe("502 upstream_unreachable");
  });

  it("G3 default fallbacks serve in order where the group has no general of its own", () => {
    const groups = [g("g", "a/m"), g("x", "x/m"), g("y", "y/m")];
    const start = { ...first(groups), config: config(groups, ["g", "x", "y"]) };
    expect(run(start, fail("overloaded", 3)).map(brief)).toEqual([
      "a/m",
      "x/m",
      "y/m",
      "502 upstream_unreachable",
    ]);
    const own = [g("g", "a/m", { general: "y" }), g("x", "x/m"), g("y", "y/m")];
    const second = { ...first(own), config: config(own, ["x"]) };
    expect(run(second, fail("overloaded", 2)).map(brief)).toEqual(["a/m", "y/m", "502 upstream_unreachable"]);
  });

  it("E4, G3 at most three hops, and max_attempts of the group asked for", () => {
    const chain = ["g", "h", "i", "j", "k"].map((name, index, names) =>
      g(name, `${name}/m`, { general: names[index + 1] }),
    );
    expect(walk(chain, fail("overloaded", 4))).toEqual([
      "g/m",
      "h/m",
      "i/m",
      "j/m",
      "502 upstream_unreachable",
    ]);
    const stingy = [
      group("g", ["a/m"], { retry: once, maxAttempts: 1, fallback: { general: "h" } }),
      g("h", "b/m"),
    ];
    expect(walk(stingy, fail("overloaded"))[1]).toBe("502 upstream_unreachable");
  });

  it("BH-03 in a cycle no group and no provider's model is tried twice", () => {
    const cycle = [
      g("g", "a/m", { general: "h" }),
      g("h", "b/m", { general: "i" }),
      g("i", "c/m", { general: "g" }),
    ];
    expect(walk(cycle, fail("server_error", 3))).toEqual(["a/m", "b/m", "c/m", "502 upstream_unreachable"]);
    const shared = [g("g", "a/m", { general: "h" }), group("h", ["a/m", "b/m"], { retry: once })];
    expect(walk(shared, fail("server_error", 2))).toEqual(["a/m", "b/m", "502 upstream_unreachable"]);
  });

  it("G3 after a hop retries and time-outs are the current group's", () => {
    const backup = group("h", ["b/m"], { retry: { maxRetries: 1, jitter: false }, connectTimeoutMs: 77 });
    const all = run(first([g("g", "a/m", { general: "h" }), backup]), fail("overloaded", 3));
    expect(all.map(brief)).toEqual(["a/m", "b/m", "b/m +250", "502 upstream_unreachable"]);
    expect(all[1]?.decision).toMatchObject({ connectTimeoutMs: 77 });
  });

  it("a fallback group that cannot serve is passed over", () => {
    const paused = group("h", [deployment("b/m", { paused: true })], { fallback: { general: "i" } });
    expect(walk([g("g", "a/m", { general: "h" }), paused, g("i", "c/m")], fail("overloaded"))[1]).toBe("c/m");
  });

  it("G5 the caller's key needs no grant on it", () => {
    const start = first([g("g", "a/m", { general: "h" }), g("h", "b/m")]);
    expect(start.request.key?.grants.has("h")).toBe(false);
    expect(run(start, fail("overloaded")).map(brief)).toEqual(["a/m", "b/m"]);
  });
});

describe("what a decision tells", () => {
  it("H4 names the deployment that would come next, and it does", () => {
    for (const order of ["weight", "strategy"] as const) {
      for (let seed = 0; seed < 50; seed += 1) {
        const many = group("g", ["a/m", "b/m", "c/m", "d/m"], {
          strategy: "shuffle",
          retry: once,
          failover: { order },
        });
        const [one, two] = run(first([many], {}, { seed }), fail("overloaded"));
        expect(one?.decision).toHaveProperty("next", two && brief(two));
      }
    }
  });

  it("asks for a lease with each attempt, and for nothing with a refusal", () => {
    const [one, two] = run(first([group("g", ["a/m"], { retry: once })]), fail("overloaded"));
    expect(one?.effects).toMatchObject([{ kind: "lease", decision: "d1", group: "p/g", deployment: "a/m" }]);
    expect(two?.effects).toEqual([]);
  });
});
