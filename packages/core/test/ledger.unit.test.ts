import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  type Effect,
  expectedFirstTokenMs,
  HISTORY_MS,
  LoadLedger,
  MAX_LEASES,
  minuteOf,
  type Outcome,
  recordLoad,
  REPORT_TTL_MS,
  type ReportedLoad,
  requestsThisMinute,
  SETTLE_MS,
  tokensThisMinute,
} from "../src/index.ts";
import { T0 } from "./builders.ts";

const LOAD = "m:a/m";

function lease(decision: string, more: Partial<Extract<Effect, { kind: "lease" }>> = {}): Effect {
  return {
    kind: "lease",
    decision,
    group: "p/g",
    deployment: "a/m",
    load: LOAD,
    startsAt: T0,
    expiresAt: T0 + 60_000,
    tokens: 100,
    ownKey: false,
    ...more,
  };
}

function outcome(decision: string, error: Outcome["error"], at = T0): Outcome {
  return {
    decision,
    group: "p/g",
    deployment: "a/m",
    error,
    status: undefined,
    retryAfterMs: undefined,
    decidedAt: T0,
    at,
    probe: false,
    ownKey: false,
  };
}

function share(more: Partial<ReportedLoad> = {}): ReportedLoad {
  return {
    load: LOAD,
    inFlight: 0,
    minute: minuteOf(T0),
    requests: 0,
    tokens: 0,
    measured: 0,
    firstTokenMs: 0,
    streamedTokens: 0,
    streamedMs: 0,
    ...more,
  };
}

const lookup = () => LOAD;
const at = (ledger: LoadLedger) => ledger.snapshot(new Set()).deployments?.get(LOAD);
const inFlight = (ledger: LoadLedger) => at(ledger)?.inFlight ?? 0;

describe("leases", () => {
  it("S7 a decision counts at once, until the outcome that quotes it", () => {
    const ledger = new LoadLedger();
    ledger.apply([lease("d1"), lease("d2")], T0);
    expect(inFlight(ledger)).toBe(2);
    ledger.observe([outcome("d1", undefined), outcome("d1", undefined)], lookup, T0);
    expect(inFlight(ledger)).toBe(1);
  });

  it("issue 3: a call counts once, by its lease or by its forwarder's report", () => {
    const ledger = new LoadLedger();
    ledger.apply([lease("d1"), lease("d2")], T0, "f");
    ledger.report(
      { reporter: "f", sequence: 1, deployments: [share({ inFlight: 2, requests: 2 })] },
      T0 + 90,
    );
    expect(inFlight(ledger)).toBe(2);
    expect(requestsThisMinute(at(ledger), T0)).toBe(2);
    ledger.report(
      { reporter: "f", sequence: 2, deployments: [share({ inFlight: 1, requests: 2 })] },
      T0 + 190,
    );
    expect(inFlight(ledger)).toBe(1);
  });

  it("a report leaves alone what was decided while it was under way", () => {
    const ledger = new LoadLedger();
    ledger.apply([lease("d1", { startsAt: T0 + 100 })], T0 + 100, "f");
    ledger.report({ reporter: "f", sequence: 1, deployments: [] }, T0 + 100 + SETTLE_MS - 1);
    expect(inFlight(ledger)).toBe(1);
    ledger.report({ reporter: "f", sequence: 2, deployments: [] }, T0 + 200);
    expect(inFlight(ledger)).toBe(0);
  });

  it("several forwarders add up, each is replaced by its own next report, and one that leaves takes its own", () => {
    const ledger = new LoadLedger();
    const says = (reporter: string, sequence: number, count: number) =>
      ledger.report(
        { reporter, sequence, deployments: [share({ inFlight: count, tokens: 10 })] },
        T0 + sequence,
      );
    says("f", 1, 3);
    says("h", 1, 4);
    says("f", 2, 1);
    says("f", 2, 9);
    says("f", 1, 9);
    expect(inFlight(ledger)).toBe(5);
    expect(tokensThisMinute(at(ledger), T0)).toBe(20);
    ledger.forget("h");
    expect(inFlight(ledger)).toBe(1);
  });

  it("nothing outlives a forwarder that falls silent, nor a lease that nobody ends", () => {
    const ledger = new LoadLedger();
    ledger.report({ reporter: "f", sequence: 1, deployments: [share({ inFlight: 3 })] }, T0);
    ledger.apply([lease("d1")], T0, "f");
    ledger.apply([lease("d2")], T0);
    ledger.tick(T0 + REPORT_TTL_MS);
    expect(inFlight(ledger)).toBe(1);
    ledger.tick(T0 + 60_000);
    expect(inFlight(ledger)).toBe(0);
    expect(ledger.leases).toBe(0);
  });

  it("is bounded: beyond the most leases the oldest gives way", () => {
    const ledger = new LoadLedger();
    for (let index = 0; index < MAX_LEASES + 50; index += 1) ledger.apply([lease(`d${index}`)], T0);
    expect(ledger.leases).toBe(MAX_LEASES);
    expect(inFlight(ledger)).toBe(MAX_LEASES);
  });

  it("forgets whom nobody has called for long", () => {
    const ledger = new LoadLedger();
    ledger.report({ reporter: "f", sequence: 1, deployments: [share({ measured: 1, firstTokenMs: 5 })] }, T0);
    ledger.tick(T0 + HISTORY_MS - 1);
    expect(at(ledger)?.samples).toBe(1);
    ledger.tick(T0 + HISTORY_MS);
    expect(at(ledger)).toBeUndefined();
  });

  it("BH-09 whatever comes in any order, in flight is never below 0 and ends at 0", () => {
    const step = fc.record({
      what: fc.constantFrom("decide", "end", "report", "tick", "forget"),
      id: fc.integer({ min: 0, max: 9 }),
      held: fc.boolean(),
      count: fc.integer({ min: -2, max: 4 }),
      after: fc.integer({ min: 0, max: 70_000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const ledger = new LoadLedger();
        let now = T0;
        let sequence = 0;
        for (const { what, id, held, count, after } of steps) {
          now += after;
          const times = { startsAt: now, expiresAt: now + 60_000 };
          sequence += 1;
          const reporter = `f${id % 2}`;
          const sum = share({ inFlight: count, minute: minuteOf(now), requests: count, tokens: count });
          if (what === "decide")
            ledger.apply([lease(`d${sequence}`, times)], now, held ? reporter : undefined);
          if (what === "end") {
            ledger.observe([outcome(`d${sequence - id}`, held ? "timeout" : undefined, now)], lookup, now);
          }
          if (what === "report") ledger.report({ reporter, sequence, deployments: held ? [sum] : [] }, now);
          if (what === "tick") ledger.tick(now);
          if (what === "forget") ledger.forget(reporter);
          const one = at(ledger);
          expect(one?.inFlight ?? 0).toBeGreaterThanOrEqual(0);
          expect(one?.requests ?? 0).toBeGreaterThanOrEqual(0);
          expect(one?.tokens ?? 0).toBeGreaterThanOrEqual(0);
        }
        ledger.tick(now + 600_000);
        expect(inFlight(ledger)).toBe(0);
        expect(ledger.leases).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});

describe("minutes", () => {
  it("S5 a reservation is replaced by what the forwarder counts, and given back by a failure", () => {
    const ledger = new LoadLedger();
    ledger.apply([lease("d1")], T0, "f");
    ledger.apply([lease("d2")], T0);
    expect(tokensThisMinute(at(ledger), T0)).toBe(200);
    ledger.report({ reporter: "f", sequence: 1, deployments: [share({ requests: 1, tokens: 7 })] }, T0 + 50);
    ledger.observe([outcome("d2", "overloaded")], lookup, T0 + 60);
    expect(tokensThisMinute(at(ledger), T0 + 60)).toBe(7);
    expect(requestsThisMinute(at(ledger), T0 + 60)).toBe(2);
  });

  it("S5 a new minute starts at nothing, and late words about the old one change nothing", () => {
    const ledger = new LoadLedger();
    ledger.apply([lease("d1")], T0);
    const next = T0 + 60_000;
    expect(requestsThisMinute(at(ledger), next)).toBe(0);
    ledger.apply([lease("d2", { startsAt: next, expiresAt: next + 9_000 })], next);
    ledger.report({ reporter: "f", sequence: 1, deployments: [share({ requests: 50, tokens: 50 })] }, next);
    expect(requestsThisMinute(at(ledger), next)).toBe(1);
  });
});

describe("reporters", () => {
  it("S5 one that was silent for a while counts on where it was", () => {
    const ledger = new LoadLedger();
    const says = (sequence: number, requests: number, now: number) =>
      ledger.report({ reporter: "f", sequence, deployments: [share({ requests, inFlight: 1 })] }, now);
    says(1, 10, T0);
    ledger.tick(T0 + REPORT_TTL_MS);
    expect(inFlight(ledger)).toBe(0);
    says(2, 11, T0 + 30_000);
    expect(requestsThisMinute(at(ledger), T0 + 30_000)).toBe(11);
    expect(inFlight(ledger)).toBe(1);
    ledger.tick(T0 + 200_000);
    expect(inFlight(ledger)).toBe(0);
  });

  it("S5 a clock that runs far ahead does not end the minutes of others", () => {
    const ledger = new LoadLedger();
    const ahead = share({ minute: minuteOf(T0) + 500, requests: 3 });
    ledger.report({ reporter: "f", sequence: 1, deployments: [ahead] }, T0);
    const later = T0 + 120_000;
    ledger.report(
      { reporter: "h", sequence: 1, deployments: [share({ minute: minuteOf(later), requests: 4 })] },
      later,
    );
    expect(requestsThisMinute(at(ledger), later)).toBe(4);
  });
});

describe("latency", () => {
  const measure = (ledger: LoadLedger, sequence: number, ms: number, now: number) =>
    ledger.report({ reporter: "f", sequence, deployments: [share({ measured: 1, firstTokenMs: ms })] }, now);

  it("S3 a slower answer counts at once, faster ones win it back over time", () => {
    const ledger = new LoadLedger();
    measure(ledger, 1, 100, T0);
    measure(ledger, 2, 900, T0 + 100);
    expect(at(ledger)?.firstTokenMs).toBe(900);
    measure(ledger, 3, 100, T0 + 200);
    expect(at(ledger)?.firstTokenMs).toBeGreaterThan(880);
    for (let step = 1; step <= 600; step += 1) measure(ledger, 3 + step, 100, T0 + 200 + step * 100);
    expect(at(ledger)?.firstTokenMs).toBeLessThan(105);
  });

  it("a report of what is no time leaves what was measured as it was", () => {
    const ledger = new LoadLedger();
    const good = { measured: 2, firstTokenMs: 100, streamedTokens: 10, streamedMs: 50 };
    ledger.report({ reporter: "f", sequence: 1, deployments: [share(good)] }, T0);
    const before = { ...at(ledger) };
    for (const ms of [Number.NaN, Number.POSITIVE_INFINITY, -1]) {
      const bad = { measured: 1, firstTokenMs: ms, streamedTokens: 1, streamedMs: ms };
      ledger.report({ reporter: String(ms), sequence: 1, deployments: [share(bad)] }, T0);
    }
    expect([at(ledger)?.firstTokenMs, at(ledger)?.perTokenMs]).toEqual([50, 5]);
    expect(at(ledger)?.successes).toBe(before.successes);
  });

  it("issue 3: time to first token and time per token stand apart", () => {
    const ledger = new LoadLedger();
    const sum = share({ measured: 2, firstTokenMs: 240, streamedTokens: 100, streamedMs: 2_000 });
    ledger.report({ reporter: "f", sequence: 1, deployments: [sum] }, T0);
    expect(at(ledger)).toMatchObject({ samples: 2, firstTokenMs: 120, perTokenMs: 20 });
  });

  it("BH-10 a failure is no sample, counts once, and makes the deployment look slower until it is forgotten", () => {
    const ledger = new LoadLedger();
    measure(ledger, 1, 100, T0);
    ledger.observe([outcome("d1", "server_error"), outcome("d1", "server_error")], lookup, T0);
    expect(at(ledger)).toMatchObject({ samples: 1, firstTokenMs: 100, failures: 1 });
    expect(expectedFirstTokenMs(at(ledger), T0)).toBe(150);
    ledger.observe([outcome("d2", "invalid_request"), outcome("d3", "cancelled")], lookup, T0);
    expect(at(ledger)?.failures).toBe(1);
  });
});

describe("record", () => {
  it("invariant 1: a recorded load does not change with the ledger", () => {
    const ledger = new LoadLedger();
    ledger.apply([lease("d1"), { kind: "place", place: "x", value: 3 }], T0);
    const kept = recordLoad(ledger.snapshot(new Set(["z"])), {
      loads: [LOAD, "m:none"],
      scopes: [],
      groups: [],
      places: ["x"],
    });
    ledger.apply([lease("d2"), { kind: "place", place: "x", value: 4 }], T0);
    expect(kept.deployments?.get(LOAD)).toMatchObject({ inFlight: 1, requests: 1, tokens: 100 });
    expect(kept.places.get("x")).toBe(3);
    expect(kept.notReady.has("z")).toBe(true);
  });
});
