import { describe, expect, it } from "vitest";
import {
  BENCH_TABLE,
  benchLookup,
  benchedUntil,
  decide,
  EMPTY_HEALTH_STATE,
  ERROR_CLASSES,
  type ErrorClass,
  expire,
  type HealthState,
  mergeHealth,
  type Outcome,
  RAMP_STEP_MS,
  rampShare,
  reduceAll,
  removeBenches,
} from "../src/index.ts";
import { brief, config, group, input, T0 } from "./builders.ts";
import type { PolicyOverride } from "./builders.ts";

const RAMP = [5, 25, 50, 100];
let serial = 0;

function outcome(at: number, error: ErrorClass | undefined, more: Partial<Outcome> = {}): Outcome {
  serial += 1;
  return {
    decision: `d${serial}`,
    group: "p/g",
    deployment: "a/m",
    error,
    status: undefined,
    retryAfterMs: undefined,
    decidedAt: at - 5,
    at,
    probe: false,
    ownKey: false,
    ...more,
  };
}

const pool = (bench: PolicyOverride["bench"]) =>
  group("g", ["a/m", "b/m"], { strategy: "shuffle", bench: { failures: 1, cooloffMs: 30_000, ...bench } });

type Pool = ReturnType<typeof pool>;

function reduced(
  of: Pool,
  outcomes: readonly Outcome[],
  from: HealthState = EMPTY_HEALTH_STATE,
): HealthState {
  return reduceAll(from, outcomes, benchLookup(config([of])), Math.max(...outcomes.map(({ at }) => at)))
    .state;
}

function percent(of: Pool, state: HealthState, now: number): number {
  const [first] = of.deployments;
  if (first === undefined) throw new Error("no deployment");
  return 100 * rampShare(state.snapshot, "p/g", true, first.scopes, of.policy.bench.ramp ?? [], now);
}

/** Share of a/m among 2,000 first picks. */
function share(of: Pool, state: HealthState, now: number): number {
  const base = input(config([of]), { health: state.snapshot, now });
  let count = 0;
  for (let seed = 0; seed < 2_000; seed += 1) {
    if (brief(decide({ ...base, seed: Math.imul(seed + 1, 0x9e3779b1) >>> 0 })) === "a/m") count += 1;
  }
  return (100 * count) / 2_000;
}

describe("bench.ramp", () => {
  const END = T0 + 30_000;
  const of = pool({ ramp: RAMP, windowMs: 1_000 });
  const start = reduced(of, [outcome(T0, "server_error")]);

  it("issue 3: traffic returns in steps of 5, 25, 50 and 100 %", () => {
    const at = (step: number) => percent(of, start, END + step * RAMP_STEP_MS);
    expect([0, 1, 2, 3, 4].map(at)).toEqual([5, 25, 50, 100, 100]);
    // Half of the draws would take it anyway.
    expect(Math.abs(share(of, start, END + 2 * RAMP_STEP_MS) - 25)).toBeLessThan(3);
    expect(share(of, start, END - 1)).toBe(0);
  });

  it("issue 3: a failure takes it back one step, and the same failure twice one step only", () => {
    const loose = pool({ ramp: RAMP, failures: 3, windowMs: 10_000 });
    const benched = reduced(loose, [outcome(T0, "timeout"), outcome(T0, "timeout"), outcome(T0, "timeout")]);
    const later = expire(benched, END + 5_000).state;
    const now = END + 2 * RAMP_STEP_MS + 5_000;
    const failure = outcome(now + 20_000, "server_error");
    expect(percent(loose, later, now)).toBe(50);
    const back = reduced(loose, [outcome(now, "server_error")], later);
    expect(percent(loose, back, now)).toBe(25);
    expect(percent(loose, back, now + RAMP_STEP_MS)).toBe(50);
    const twice = reduced(loose, [failure, failure], back);
    expect(percent(loose, twice, failure.at)).toBe(50);
  });

  it("issue 3: outlives pruning, joins alike in either order, and ends by itself", () => {
    const pruned = expire(start, END + 500).state;
    expect(percent(of, pruned, END + RAMP_STEP_MS)).toBe(25);
    const joined = mergeHealth(start.snapshot, pruned.snapshot);
    expect(percent(of, { ...start, snapshot: joined }, END + RAMP_STEP_MS)).toBe(25);
    const other = mergeHealth(pruned.snapshot, start.snapshot);
    expect(percent(of, { ...start, snapshot: other }, END + RAMP_STEP_MS)).toBe(25);
    expect(expire(pruned, END + RAMP.length * RAMP_STEP_MS).state.snapshot.benches.size).toBe(0);
  });

  it("issue 3: begins when a probe ends the bench; a person's end brings all traffic back", () => {
    const probed = reduced(of, [outcome(T0 + 5_000, undefined, { probe: true })], start);
    expect(percent(of, probed, T0 + 5_000)).toBe(5);
    const freed = removeBenches(start, "d:p/g:a/m", T0 + 5_000).state;
    expect(percent(of, freed, T0 + 5_000)).toBe(100);
    const joined = mergeHealth(freed.snapshot, expire(start, END).state.snapshot);
    expect(percent(of, { ...freed, snapshot: joined }, END + 1)).toBe(100);
  });

  it("issue 3: a new bench takes the place of the ramp", () => {
    const again = reduced(of, [outcome(END + 2_000, "server_error")], expire(start, END).state);
    expect(percent(of, again, END + 2_000)).toBe(100);
    expect(again.snapshot.benches.get("d:p/g:a/m")).toMatchObject({ policy: { until: END + 32_000 } });
    expect(percent(of, again, END + 32_000)).toBe(5);
  });

  it("issue 3: never refuses what nobody else can take", () => {
    const alone = group("g", ["a/m"], { bench: { failures: 1, ramp: RAMP } });
    const state = reduced(alone, [outcome(T0, "server_error")]);
    expect(share(alone, state, END)).toBe(100);
  });

  it("R8 the explanation says who is held back", () => {
    const base = input(config([of]), { health: start.snapshot, now: END, explain: true });
    const rules = Array.from({ length: 20 }, (_, seed) => decide({ ...base, seed: seed * 7919 }))
      .flatMap(({ explanation }) => explanation?.groups[0]?.candidates ?? [])
      .map(({ rule }) => rule);
    expect(rules).toContain("bench.ramp at 5 % of its traffic");
  });

  it("is off where the policy has none", () => {
    const plain = pool({});
    const state = reduced(plain, [outcome(T0, "server_error")]);
    expect(percent(plain, state, END)).toBe(100);
  });
});

describe("rate_limit_skip.learn", () => {
  const skip = { failures: 0, rateLimitSkip: { defaultMs: 10_000, maxMs: 60_000, learn: true } };
  const ends = (of: Pool, state: HealthState) => {
    const [first] = of.deployments;
    return first === undefined ? 0 : benchedUntil(state.snapshot, "p/g", true, first.scopes) - T0;
  };

  it("issue 3: where no Retry-After comes it waits what this provider last asked for, within the bound", () => {
    const of = pool(skip);
    const told = reduced(of, [outcome(T0, "rate_limited", { retryAfterMs: 25_000 })]);
    expect(ends(of, told)).toBe(25_000);
    const silent = reduced(of, [outcome(T0 + 30_000, "rate_limited")], told);
    expect(ends(of, silent)).toBe(55_000);
    const long = reduced(of, [outcome(T0, "rate_limited", { retryAfterMs: 900_000 })]);
    expect(ends(of, reduced(of, [outcome(T0 + 70_000, "rate_limited")], long))).toBe(130_000);
  });

  it("B2 without learning, or before anything was learned, it waits the default", () => {
    const plain = pool({ ...skip, rateLimitSkip: { defaultMs: 10_000, maxMs: 60_000 } });
    const told = reduced(plain, [outcome(T0, "rate_limited", { retryAfterMs: 25_000 })]);
    expect(ends(plain, reduced(plain, [outcome(T0 + 30_000, "rate_limited")], told))).toBe(40_000);
    expect(ends(pool(skip), reduced(pool(skip), [outcome(T0, "rate_limited")]))).toBe(10_000);
  });
});

describe("bench table", () => {
  it("section 5, B2 says of every class what it benches and for how long", () => {
    expect(Object.keys(BENCH_TABLE).toSorted()).toEqual([...ERROR_CLASSES].toSorted());
    const never = [
      "invalid_request",
      "payload_too_large",
      "context_length",
      "content_filter",
      "not_ready",
      "cancelled",
    ];
    expect(ERROR_CLASSES.filter((name) => !BENCH_TABLE[name].counts).toSorted()).toEqual(never.toSorted());
    expect(BENCH_TABLE.quota_exhausted.atOnce).toMatchObject({ scope: "provider", ms: "quota_cooloff" });
  });

  it("issue 3: a policy may replace a row", () => {
    const auth = { counts: false, atOnce: { scope: "provider", reason: "failures", ms: 5_000 } } as const;
    const of = pool({ table: { auth } });
    const state = reduced(of, [outcome(T0, "auth")]);
    expect([...state.snapshot.benches.keys()]).toEqual(["p:a"]);
    expect(state.snapshot.benches.get("p:a")?.policy?.until).toBe(T0 + 5_000);
  });
});
