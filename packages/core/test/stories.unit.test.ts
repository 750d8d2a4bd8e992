import { describe, expect, it } from "vitest";
import {
  addBench,
  benchLookup,
  type ConfigSnapshot,
  decide,
  type DecideInput,
  EMPTY_HEALTH_STATE,
  type ErrorClass,
  expire,
  type HealthState,
  reduce,
} from "../src/index.ts";
import { after, config, deployment, group, input, T0 } from "./builders.ts";
import type { Failure } from "./builders.ts";

/** How an upstream answers its n-th call, from 1, at `ms` from the start; undefined is a good answer. */
type Script = (call: number, ms: number) => Failure | undefined;

/** Router and health service in one, without sockets: each call takes 1 ms, each outcome is seen at once. */
function cluster(snapshot: ConfigSnapshot, scripts: Readonly<Record<string, Script>>) {
  const calls: Record<string, number> = {};
  let health: HealthState = EMPTY_HEALTH_STATE;
  let serial = 0;

  /** One request at `ms`; who served, or the refusal's code. */
  function request(ms: number): string {
    serial += 1;
    const now = T0 + ms;
    health = expire(health, now).state;
    const { facts, key } = input(snapshot).request;
    let at: DecideInput = input(snapshot, {
      now,
      seed: Math.imul(serial, 0x9e3779b1) >>> 0,
      health: health.snapshot,
      decisionId: `r${serial}`,
      request: { facts: { ...facts, arrivedAt: now }, key },
    });
    for (;;) {
      const decided = decide(at);
      for (const effect of decided.effects) {
        if (effect.kind === "bench") health = addBench(health, effect.bench, at.now).state;
      }
      const { decision } = decided;
      if (decision.kind === "refuse") return decision.code;
      const { id } = decision.deployment;
      const call = (calls[id] = (calls[id] ?? 0) + 1);
      const failure = scripts[id]?.(call, at.now + decision.delayMs - T0);
      if (failure === undefined) return id;
      const next = after(at, decided, { tookMs: 1, ...failure });
      const outcome = {
        decision: at.decisionId,
        group: decision.group.key,
        deployment: id,
        error: failure.error,
        status: failure.status,
        retryAfterMs: failure.retryAfterMs,
        decidedAt: at.now,
        at: next.now,
        probe: false,
        ownKey: false,
      };
      health = reduce(health, outcome, benchLookup(snapshot), next.now).state;
      at = { ...next, health: health.snapshot };
    }
  }

  const requests = (count: number, ms: number, step = 0): string[] =>
    Array.from({ length: count }, (_, index) => request(ms + index * step));
  return { calls, request, requests };
}

const always =
  (error: ErrorClass): Script =>
  () => ({ error });

/** `a` is as good as always picked first. */
const aFirst = [deployment("a/m", { weight: 1_000_000 }), deployment("b/m")];

describe("stories", () => {
  it("B1 three failures bench a deployment, and it comes back after the cool-off", () => {
    const sick: Script = (_, ms) => (ms < 20_000 ? { error: "server_error" } : undefined);
    const { calls, requests } = cluster(config([group("g", aFirst)]), { "a/m": sick });
    expect(new Set(requests(10, 0, 100))).toEqual(new Set(["b/m"]));
    expect(calls["a/m"]).toBe(3);
    expect(new Set(requests(10, 20_000, 100))).toEqual(new Set(["b/m"]));
    expect(new Set(requests(10, 31_000, 100))).toEqual(new Set(["a/m"]));
  });

  it("BH-02 an account without money is tried once, an ordinary 400 stays the caller's", () => {
    const bench = { failures: 0, quotaCooloffMs: 60_000 };
    const snapshot = config([group("g", aFirst, { bench })]);
    const dead = cluster(snapshot, { "a/m": always("quota_exhausted") });
    expect(new Set(dead.requests(6, 0, 500))).toEqual(new Set(["b/m"]));
    expect(dead.calls).toEqual({ "a/m": 1, "b/m": 6 });
    const rejecting = cluster(snapshot, {
      "a/m": (call) => (call === 1 ? { error: "invalid_request" } : undefined),
    });
    expect(rejecting.requests(2, 0)).toEqual(["upstream_unreachable", "a/m"]);
    expect(rejecting.calls).toEqual({ "a/m": 2 });
  });

  it("BH-03 in a cycle of groups that all fail each is called once", () => {
    const ring = ["g", "h", "i"].map((name, index, names) =>
      group(name, [`${name}/m`], { retry: { maxRetries: 0 }, fallback: { general: names[(index + 1) % 3] } }),
    );
    const { calls, request } = cluster(config(ring), {
      "g/m": always("server_error"),
      "h/m": always("server_error"),
      "i/m": always("server_error"),
    });
    expect(request(0)).toBe("upstream_unreachable");
    expect(calls).toEqual({ "g/m": 1, "h/m": 1, "i/m": 1 });
  });

  it("BH-04 another serves at once, and the limited one stays cooled as long as it asked", () => {
    const policy = {
      retry: { maxRetries: 0, respectRetryAfter: false },
      bench: { failures: 0, rateLimitSkip: { defaultMs: 10_000, maxMs: 60_000 } },
    };
    const limited: Script = (call) =>
      call === 1 ? { error: "rate_limited", retryAfterMs: 3_000 } : undefined;
    const { requests } = cluster(config([group("g", aFirst, policy)]), { "a/m": limited });
    expect(requests(4, 0, 990)).toEqual(["b/m", "b/m", "b/m", "b/m"]);
    expect(requests(1, 3_100)).toEqual(["a/m"]);
  });

  it("BH-04 alone, it is waited for where the wait fits, and left benched where it does not", () => {
    const asks =
      (retryAfterMs: number): Script =>
      (call) =>
        call === 1 ? { error: "rate_limited", retryAfterMs } : undefined;
    const alone = (requestTimeoutMs: number) => config([group("g", ["a/m"], { requestTimeoutMs })]);
    expect(cluster(alone(10_000), { "a/m": asks(3_000) }).request(0)).toBe("a/m");
    const hurried = cluster(alone(1_000), { "a/m": asks(3_000) });
    expect(hurried.request(0)).toBe("upstream_unreachable");
    expect(hurried.calls).toEqual({ "a/m": 1 });
  });

  it("BH-08 a call that never settles keeps nothing benched", () => {
    const bench = { failures: 5, windowMs: 30_000, cooloffMs: 2_000, whenAllBenched: "refuse" } as const;
    const sick: Script = (call) => {
      if (call <= 5) return { error: "server_error" };
      return call === 6 ? { error: "cancelled" } : undefined;
    };
    const snapshot = config([group("g", ["a/m"], { retry: { maxRetries: 0 }, bench })]);
    const { requests } = cluster(snapshot, { "a/m": sick });
    expect(new Set(requests(5, 0))).toEqual(new Set(["upstream_unreachable"]));
    expect(requests(1, 1_000)).toEqual(["upstream_unavailable"]);
    expect(requests(1, 2_200)).toEqual(["client_closed"]);
    expect(new Set(requests(15, 3_200, 1_000))).toEqual(new Set(["a/m"]));
  });

  it("R7 when all are benched the request still gets its one try", () => {
    const { calls, request, requests } = cluster(
      config([group("g", ["a/m"], { retry: { maxRetries: 0 } })]),
      {
        "a/m": (call) => (call <= 3 ? { error: "server_error" } : undefined),
      },
    );
    requests(3, 0);
    expect(request(10)).toBe("a/m");
    expect(calls).toEqual({ "a/m": 4 });
  });
});
