import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  addBench,
  addManualBench,
  affectsHealth,
  benchedUntil,
  benchLookup,
  type Bench,
  EMPTY_HEALTH_STATE,
  type ErrorClass,
  expire,
  type Group,
  type HealthState,
  mergeHealth,
  type Outcome,
  reduceAll,
  removeBenches,
} from "../src/index.ts";
import { config, group, T0 } from "./builders.ts";
import type { PolicyOverride } from "./builders.ts";

let serial = 0;

function outcome(at: number, error?: ErrorClass, more: Partial<Outcome> = {}): Outcome {
  serial += 1;
  return {
    decision: `d${serial}`,
    group: "p/g",
    deployment: "a/m",
    error,
    status: undefined,
    retryAfterMs: undefined,
    decidedAt: T0 + at - 5,
    at: T0 + at,
    probe: false,
    ownKey: false,
    ...more,
  };
}

const groups = (bench: PolicyOverride["bench"] = {}): Group[] => [
  group("g", ["a/m", "b/m"], { bench }),
  group("h", ["a/m", "a/n"], { bench }),
];

/** Reduces outcomes as they come, each at its own time. */
function reduced(of: readonly Group[], outcomes: readonly Outcome[], from: HealthState = EMPTY_HEALTH_STATE) {
  const now = Math.max(...outcomes.map((one) => one.at));
  return reduceAll(from, outcomes, benchLookup(config(of)), now);
}

/** End of the bench that `group` sees on `deployment`, in ms from the start; 0 without one. */
function until(state: HealthState, of: readonly Group[], name = "g", deployment = "a/m"): number {
  const found = of.find((one) => one.name === name);
  const one = found?.deployments.find((candidate) => candidate.id === deployment);
  if (found === undefined || one === undefined) throw new Error("no such deployment");
  return Math.max(0, benchedUntil(state.snapshot, found.key, true, one.scopes) - T0);
}

describe("benching by count", () => {
  it("B1 benches at the third failure within the window, in its own group only", () => {
    const of = groups();
    const two = reduced(of, [outcome(0, "server_error"), outcome(100, "timeout")]);
    expect(until(two.state, of)).toBe(0);
    const three = reduced(of, [outcome(200, "auth")], two.state);
    expect(three.transitions).toMatchObject([
      { kind: "benched", bench: { reason: "failures", scope: "deployment" } },
    ]);
    expect(until(three.state, of)).toBe(30_200);
    expect(until(three.state, of, "h")).toBe(0);
  });

  it("B1 the window slides: failures that are too far apart do not add up, successes do not reset", () => {
    const of = groups();
    const apart = [
      outcome(0, "server_error"),
      outcome(59_000, "server_error"),
      outcome(60_000, "server_error"),
    ];
    expect(until(reduced(of, apart).state, of)).toBe(0);
    const mixed = [
      outcome(0, "server_error"),
      outcome(1),
      outcome(2, "server_error"),
      outcome(3),
      outcome(4, "conflict"),
    ];
    expect(until(reduced(of, mixed).state, of)).toBe(30_004);
  });

  it.each(["model", "provider"] as const)("B1, B3 scope %s counts and benches across groups", (scope) => {
    const of = groups({ scope });
    const failures = [0, 1, 2].map((at) =>
      outcome(at, "server_error", at === 1 ? { group: "p/h", deployment: "a/m" } : {}),
    );
    const { state } = reduced(of, failures);
    expect(until(state, of, "h", "a/m")).toBe(30_002);
    expect(until(state, of, "h", "a/n")).toBe(scope === "provider" ? 30_002 : 0);
    expect(until(state, of, "g", "b/m")).toBe(0);
  });

  it("B1 counts only the classes in bench.on; 0 failures never benches", () => {
    const only = groups({ failures: 1, on: new Set<ErrorClass>(["overloaded"]) });
    expect(until(reduced(only, [outcome(0, "server_error")]).state, only)).toBe(0);
    expect(until(reduced(only, [outcome(0, "overloaded")]).state, only)).toBe(30_000);
    const never = groups({ failures: 0 });
    expect(reduced(never, [outcome(0, "server_error")]).state).toBe(EMPTY_HEALTH_STATE);
  });

  it("invariant 4: the caller's own mistakes, departures and account are ignored", () => {
    const ignored = [
      "invalid_request",
      "context_length",
      "content_filter",
      "cancelled",
      "not_ready",
    ] as const;
    for (const error of ignored) expect(affectsHealth(outcome(0, error))).toBe(false);
    for (const error of ["auth", "rate_limited", "quota_exhausted"] as const) {
      expect(affectsHealth(outcome(0, error, { ownKey: true }))).toBe(false);
      expect(affectsHealth(outcome(0, error))).toBe(true);
    }
    expect(affectsHealth(outcome(0, "server_error", { ownKey: true }))).toBe(true);
    expect(affectsHealth(outcome(0))).toBe(false);
  });

  it("counts an outcome once, however often it comes", () => {
    const of = groups();
    const one = outcome(0, "server_error");
    const { state } = reduced(of, [one, one, one, outcome(1, "server_error"), one]);
    expect(until(state, of)).toBe(0);
  });

  it("keeps no more failures than a policy needs", () => {
    const of = groups();
    const many = Array.from({ length: 500 }, (_, at) => outcome(at, "server_error"));
    const { state } = reduced(of, many);
    expect([...state.windows.values()].map((window) => window.failures.length)).toEqual([3]);
    expect(until(state, of)).toBe(30_499);
  });

  it("of deployments that the config does not know nothing is kept", () => {
    const of = groups({ failures: 1 });
    expect(reduced(of, [outcome(0, "server_error", { deployment: "x/y" })]).state).toBe(EMPTY_HEALTH_STATE);
  });
});

describe("skips", () => {
  const skip = { failures: 0, rateLimitSkip: { defaultMs: 10_000, maxMs: 60_000 }, quotaCooloffMs: 60_000 };

  it.each([
    [undefined, 10_000],
    [0, 10_000],
    [3_000, 3_000],
    [600_000, 60_000],
  ])(
    "B2 after a 429 with Retry-After %s ms that provider's model is skipped %i ms",
    (retryAfterMs, expected) => {
      const of = groups(skip);
      const { state } = reduced(of, [outcome(0, "rate_limited", { retryAfterMs })]);
      expect(until(state, of)).toBe(expected);
      expect(until(state, of, "h", "a/m")).toBe(expected);
      expect(until(state, of, "h", "a/n")).toBe(0);
    },
  );

  it("B2, BH-02 without credit every model of the provider is skipped", () => {
    const of = groups(skip);
    const { state } = reduced(of, [outcome(0, "quota_exhausted")]);
    expect(until(state, of, "h", "a/n")).toBe(60_000);
    expect(until(state, of, "g", "b/m")).toBe(0);
  });
});

describe("BH-01 a second failure never shortens the cool-off", () => {
  const of = [
    group("g", ["a/m", "b/m"], {
      strategy: "round_robin",
      bench: { failures: 1, cooloffMs: 5_000, rateLimitSkip: { defaultMs: 5_000, maxMs: 60_000 } },
    }),
  ];
  const skipOnly = [
    group("g", ["a/m", "b/m"], { bench: { failures: 0, rateLimitSkip: { defaultMs: 5_000, maxMs: 0 } } }),
  ];
  const short = outcome(0, "rate_limited", { retryAfterMs: 1_000 });
  const long = [50, 51, 52].map((at) => outcome(at, "rate_limited"));

  it.each([
    ["by count and skip", of],
    ["by the 429 skip alone", skipOnly],
  ])("%s: short first, long later; at 2 s still benched, at 6 s not", (_, config_) => {
    const { state } = reduced(config_, [short, ...long]);
    expect(until(state, config_)).toBe(5_052);
  });

  it.each([
    ["by count and skip", of],
    ["by the 429 skip alone", skipOnly],
  ])("%s: long first, short later", (_, config_) => {
    const first = reduced(config_, [long[0] ?? short]).state;
    const { state } = reduced(config_, [outcome(100, "rate_limited", { retryAfterMs: 1_000 })], first);
    expect(until(state, config_)).toBeGreaterThanOrEqual(5_050);
  });

  it("shared by two processes, #1 on one and #2 to #4 on the other", () => {
    const left = reduced(skipOnly, [short]).state;
    const right = reduced(skipOnly, long).state;
    for (const snapshot of [
      mergeHealth(left.snapshot, right.snapshot),
      mergeHealth(right.snapshot, left.snapshot),
    ]) {
      expect(until({ ...left, snapshot }, skipOnly)).toBe(5_052);
    }
  });
});

describe("endings", () => {
  const of = groups({ failures: 1 });
  const failed = reduced(of, [outcome(0, "server_error")]).state;
  const manual: Bench = {
    key: "m:a/m",
    scope: "model",
    until: T0 + 90_000,
    since: T0 + 10,
    reason: "manual",
    group: undefined,
  };

  it("B5 benches end by themselves, and windows are forgotten", () => {
    expect(expire(failed, T0 + 29_999)).toEqual({ state: failed, transitions: [] });
    const over = expire(failed, T0 + 60_000);
    expect(over.transitions).toMatchObject([{ kind: "ended", by: "time" }]);
    expect(over.state.snapshot.benches.size + over.state.windows.size).toBe(0);
  });

  it("B4 a probe's success ends what a policy made, unless it was decided before the bench", () => {
    const late = outcome(100, undefined, { probe: true, decidedAt: T0 - 1 });
    expect(reduced(of, [late], failed).state).toBe(failed);
    const probe = outcome(100, undefined, { probe: true, decidedAt: T0 + 50 });
    const ended = reduced(of, [probe], failed);
    expect(ended.transitions).toMatchObject([{ kind: "ended", by: "probe" }]);
    expect(until(ended.state, of)).toBe(0);
    expect(ended.state.windows.size).toBe(0);
    const byHand = addManualBench(failed, manual).state;
    expect(until(reduced(of, [probe], byHand).state, of)).toBe(90_000);
  });

  it("B5 a person benches, shortens and ends, and an outcome from before does not undo it", () => {
    const benched = addManualBench(failed, manual).state;
    expect(until(benched, of)).toBe(90_000);
    const shorter = addManualBench(benched, { ...manual, until: T0 + 40_000, since: T0 + 20 }).state;
    expect(until(shorter, of)).toBe(40_000);
    const ended = removeBenches(shorter, "d:p/g:a/m", T0 + 200);
    expect(ended.transitions).toMatchObject([{ kind: "ended", by: "person" }]);
    expect(until(removeBenches(ended.state, "m:a/m", T0 + 200).state, of)).toBe(0);
    const stale = reduced(of, [outcome(150, "server_error")], ended.state).state;
    expect(until(stale, of)).toBe(40_000);
    const merged = mergeHealth(ended.state.snapshot, failed.snapshot);
    expect(merged.benches.get("d:p/g:a/m")?.policy).toBeUndefined();
  });

  it("B5 what another replica ended starts the window anew here too", () => {
    const three = groups();
    const failures = [0, 1, 2].map((at) => outcome(at, "server_error"));
    const { state } = reduced(three, failures);
    const other = removeBenches(state, "d:p/g:a/m", T0 + 10).state;
    const told = { ...state, snapshot: mergeHealth(state.snapshot, other.snapshot) };
    expect(until(reduced(three, [outcome(20, "server_error")], told).state, three)).toBe(0);
    const again = [20, 21, 22].map((at) => outcome(at, "server_error"));
    expect(until(reduced(three, again, told).state, three)).toBe(30_022);
  });

  it("E2 a bench that a decision asked for stands, and none that is over is taken", () => {
    const asked: Bench = { ...manual, reason: "retry_after", group: "p/g" };
    const { state, transitions } = addBench(failed, asked, T0 + 10);
    expect(transitions).toMatchObject([{ kind: "benched", bench: { reason: "retry_after" } }]);
    expect(until(state, of)).toBe(90_000);
    expect(addBench(failed, asked, T0 + 90_000).state).toBe(failed);
  });
});

describe("laws", () => {
  const of = groups({
    failures: 2,
    windowMs: 1_000,
    cooloffMs: 700,
    rateLimitSkip: { defaultMs: 300, maxMs: 900 },
  });
  const lookup = benchLookup(config(of));
  const outcomes = fc.array(
    fc.record({
      at: fc.integer({ min: 0, max: 3_000 }),
      error: fc.constantFrom<ErrorClass>("server_error", "rate_limited", "invalid_request"),
      retryAfterMs: fc.option(fc.integer({ min: 1, max: 2_000 }), { nil: undefined }),
    }),
    { maxLength: 12 },
  );
  const made = outcomes.map((list) =>
    list.map(({ at, error, retryAfterMs }, index) =>
      outcome(at, error, { retryAfterMs, decision: `r${index}` }),
    ),
  );

  it("invariant 4: a bench only moves its end later", () => {
    fc.assert(
      fc.property(made, (list) => {
        let state = EMPTY_HEALTH_STATE;
        let end = 0;
        for (const one of list) {
          state = reduceAll(state, [one], lookup, T0 + 3_000).state;
          const now = until(state, of);
          expect(now).toBeGreaterThanOrEqual(end);
          end = now;
        }
      }),
    );
  });

  it("B6 outcomes in any order, and twice, bench alike while they are fresh", () => {
    const fresh = made.map((list) => list.map((one) => ({ ...one, at: T0 + 2_500 + ((one.at - T0) % 500) })));
    fc.assert(
      fc.property(fresh, fc.infiniteStream(fc.nat()), (list, order) => {
        const keyed = list.map((one) => ({ one, rank: order.next().value as number }));
        const shuffled = keyed.toSorted((left, right) => left.rank - right.rank).map(({ one }) => one);
        const sorted = list.toSorted((left, right) => left.at - right.at);
        const straight = reduceAll(EMPTY_HEALTH_STATE, sorted, lookup, T0 + 3_000).state;
        const mixed = reduceAll(EMPTY_HEALTH_STATE, [...shuffled, ...shuffled], lookup, T0 + 3_000).state;
        expect(until(mixed, of)).toBe(until(straight, of));
      }),
    );
  });

  it("B6 merging is commutative, associative and idempotent in what is benched", () => {
    const snapshots = made.map((list) => reduceAll(EMPTY_HEALTH_STATE, list, lookup, T0).state.snapshot);
    const ends = (snapshot: HealthState["snapshot"]) =>
      new Map([...snapshot.benches].map(([key, entry]) => [key, entry.policy?.until] as const));
    fc.assert(
      fc.property(snapshots, snapshots, snapshots, (a, b, c) => {
        expect(ends(mergeHealth(a, b))).toEqual(ends(mergeHealth(b, a)));
        expect(ends(mergeHealth(mergeHealth(a, b), c))).toEqual(ends(mergeHealth(a, mergeHealth(b, c))));
        expect(mergeHealth(a, a)).toBe(a);
        const ab = mergeHealth(a, b);
        expect(mergeHealth(ab, b)).toBe(ab);
      }),
    );
  });
});
