import { describe, expect, it } from "vitest";
import { backoffMs, isUsableWait } from "../src/escalation/backoff.ts";
import { nextStep, type Situation } from "../src/escalation/next-step.ts";
import { progressOf } from "../src/escalation/progress.ts";
import { policy, T0 } from "./builders.ts";
import type { ErrorClass, FailedAttempt } from "../src/index.ts";

const attempt = (error: ErrorClass, of = "a/m", at = "p/g"): FailedAttempt => ({
  decision: "d",
  group: at,
  deployment: of,
  error,
  status: undefined,
  retryAfterMs: undefined,
  startedAt: T0 - 10,
  endedAt: T0,
});

describe("back-off", () => {
  const { retry } = policy({ retry: { jitter: false } });

  it("E2 doubles from 250 ms to 8 s", () => {
    const waits = [0, 1, 2, 3, 4, 5, 6, 60].map((retries) => backoffMs(retry, retries, 0.5));
    expect(waits).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000]);
  });

  it("E2 with jitter lies between half and all of it", () => {
    const jittered = { ...retry, jitter: true };
    expect([0, 0.5, 0.999].map((draw) => backoffMs(jittered, 1, draw))).toEqual([250, 375, 500]);
  });

  it("BH-04 a wait that is past or no number is not usable", () => {
    const waits = [undefined, 0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1];
    expect(waits.map(isUsableWait)).toEqual([false, false, false, false, false, true]);
  });
});

describe("progress", () => {
  it("R10, E10 counts calls and deployments, not those without a credential", () => {
    const attempts = [
      attempt("overloaded"),
      attempt("overloaded"),
      attempt("not_ready", "b/m"),
      attempt("timeout", "a/m", "p/h"),
    ];
    const found = progressOf({ asked: "p/g", hops: [], attempts, lastResorts: [] });
    expect(found).toMatchObject({ calls: 3, deployments: 2, retries: 0 });
    const two = progressOf({ asked: "p/g", hops: [], attempts: attempts.slice(0, 2), lastResorts: [] });
    expect(two).toMatchObject({ calls: 2, deployments: 1, retries: 1 });
  });
});

describe("next step", () => {
  const situation: Situation = {
    policy: policy({ retry: { jitter: false } }),
    endpoint: "chat",
    attempt: attempt("server_error"),
    now: T0,
    timeLeftMs: 60_000,
    retries: 0,
    maxRetries: 2,
    callsLeft: true,
    reusable: true,
    draw: 0,
  };

  it.each([
    [{}, { kind: "again", delayMs: 250 }],
    [{ retries: 2 }, { kind: "next" }],
    [{ reusable: false }, { kind: "next" }],
    [{ callsLeft: false }, { kind: "next" }],
    [{ timeLeftMs: 250 }, { kind: "next" }],
    [{ attempt: attempt("context_length") }, { kind: "hop", fallback: "context" }],
    [{ attempt: attempt("invalid_request") }, { kind: "stop", why: "returned" }],
    [{ attempt: attempt("cancelled") }, { kind: "stop", why: "cancelled" }],
    [{ attempt: attempt("not_ready"), policy: policy({ failover: { on: new Set() } }) }, { kind: "next" }],
  ] as const)("E3 %j", (change, expected) => {
    expect(nextStep({ ...situation, ...change })).toEqual(expected);
  });
});
