import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  callerLookup,
  type ConfigSnapshot,
  decide,
  type DecideInput,
  type LogLine,
  LoadLedger,
  Observed,
  parseLine,
  recordDecision,
  recordDropped,
  recordOutcome,
  Replay,
  type ReplayReport,
  verifyDecision,
} from "../src/index.ts";
import { after, config, deployment, type Failure, facts, group, input, key, T0 } from "./builders.ts";
import { failure, world } from "./worlds.ts";

const NOTHING = {
  error: undefined,
  status: undefined,
  retryAfterMs: undefined,
  ms: undefined,
  usage: undefined,
  costUsd: undefined,
};

/** The lines of a request whose attempts fail like that, and whose last one goes well. */
function logOf(first: DecideInput, failures: readonly Failure[]): string[] {
  const lines: string[] = [];
  let at = first;
  for (const one of [...failures, undefined]) {
    const decided = decide(at);
    lines.push(recordDecision(at, decided));
    if (one === undefined || decided.decision.kind === "refuse") break;
    at = after(at, decided, one);
  }
  return lines;
}

/** A config whose keys can be found by their names, as a log finds them. */
function withKeys(snapshot: ConfigSnapshot, hash = snapshot.hash): ConfigSnapshot {
  const names = [...snapshot.groups.values()].map(({ name }) => name);
  return { ...snapshot, hash, keys: new Map([["k", key(names)]]) };
}

function replay(lines: readonly string[], candidate: ConfigSnapshot): ReplayReport {
  const parsed: LogLine[] = lines.map(parseLine);
  const observed = new Observed();
  for (const line of parsed) observed.add(line);
  const run = new Replay(candidate, observed);
  for (const line of parsed) run.add(line);
  return run.finish();
}

const NATIVE = { endpoint: "native", path: "/v1/systemone" } as const;

/** Some of the requests are of a native endpoint. */
const worldWithKey = fc.tuple(world, fc.constantFrom({}, {}, NATIVE)).map(([made, asked]): DecideInput => {
  const nativeEndpoints = new Map([[NATIVE.path, new Set(["openai"])]]);
  const request = { facts: { ...made.request.facts, ...asked }, key: key(["g", "h", "i", "j", "k"]) };
  return { ...made, config: { ...withKeys(made.config), nativeEndpoints }, request };
});

const story = fc.tuple(worldWithKey, fc.array(failure, { maxLength: 6 }));

describe("a decision log", () => {
  it("invariant 1: every recorded decision comes out bit for bit the same on its config", () => {
    fc.assert(
      fc.property(story, ([first, failures]) => {
        const callers = callerLookup(first.config);
        for (const text of logOf(first, failures)) {
          const line = parseLine(text);
          if (line.kind !== "decision") throw new Error("a decision was recorded");
          expect(verifyDecision(line, first.config, callers)).toEqual({ kind: "same" });
        }
      }),
      { numRuns: 300 },
    );
  });

  it("keeps what one decision can read, not what the router knows", () => {
    const ledger = new LoadLedger();
    const snapshot = withKeys(
      config([group("g", ["a/m"], { strategy: "round_robin" }), group("far", ["z/m"])]),
    );
    for (const place of ["k|p/far|1", "k|p/g|1"]) ledger.apply([{ kind: "place", place, value: 7 }], T0);
    ledger.apply(
      ["m:a/m", "m:z/m"].map((load, index) => ({
        kind: "lease" as const,
        decision: `x${index}`,
        group: "p/g",
        deployment: "a/m",
        load,
        startsAt: T0,
        expiresAt: T0 + 1_000,
        tokens: 5,
        ownKey: false,
      })),
      T0,
    );
    const asked = input(snapshot, {
      load: ledger.snapshot(new Set()),
      request: { facts: facts(), key: key(["g"]) },
    });
    const line = parseLine(recordDecision(asked, decide(asked)));
    if (line.kind !== "decision") throw new Error("a decision was recorded");
    expect([...line.load.places]).toEqual([["k|p/g|1", 7]]);
    expect([...(line.load.deployments ?? new Map()).keys()]).toEqual(["m:a/m"]);
    expect(line.load.deployments?.get("m:a/m")).toMatchObject({ inFlight: 1, tokens: 5 });
  });

  it("holds neither key nor text of a request: only names and hashes (F7, invariant 9)", () => {
    const snapshot = withKeys(config([group("g", ["a/m"])]));
    const caller = key(["g"], { user: { sub: "user-4711", data: { mail: "mail-4711" } } });
    const asked = input(snapshot, {
      request: { facts: facts({ affinity: { session: 5, expressions: new Map([["e", 6]]) } }), key: caller },
    });
    const text = recordDecision(asked, decide(asked));
    expect(text).not.toContain("4711");
    expect(parseLine(text)).toMatchObject({
      caller: { project: "p", name: "k", open: false },
      facts: { affinity: { session: 5, expressions: new Map([["e", 6]]) } },
    });
  });

  it("says what differs where the program would decide otherwise, and where the config is another", () => {
    const snapshot = withKeys(config([group("g", ["a/m"])]));
    const [text = ""] = logOf(input(snapshot, { request: { facts: facts(), key: key(["g"]) } }), []);
    const line = parseLine(text);
    if (line.kind !== "decision") throw new Error("a decision was recorded");
    const other = withKeys(config([group("g", ["b/m"])]));
    expect(verifyDecision(line, other, callerLookup(other))).toEqual({
      kind: "differs",
      recorded: "pick: a/m of p/g",
      now: "pick: b/m of p/g",
    });
    const named = { ...other, hash: "111111111111" };
    expect(verifyDecision(line, named, callerLookup(named))).toEqual({ kind: "other_config" });
  });

  it.each([
    ["{", "no JSON"],
    ["3", "an object is wanted"],
    ['{"kind":"x"}', "kind: one of decision, outcome, dropped is wanted"],
    ['{"kind":"outcome","decision":"d","error":"oops"}', "error: one of rate_limited,"],
    ['{"kind":"dropped","lines":"3"}', "lines: a number is wanted"],
    ['{"kind":"decision","config":{}}', "health: an object is wanted"],
  ])("%s is malformed, and it is said where", (text, why) => {
    expect(() => parseLine(text)).toThrow(why);
  });
});

describe("replay", () => {
  const calls = (report: ReplayReport, when: "before" | "after"): Record<string, number> =>
    Object.fromEntries(report.deployments.map((row) => [row.deployment, row[when].calls]));

  /** So many requests to group g, each the same but for its seed and ids. */
  function traffic(snapshot: ConfigSnapshot, count: number, failures: (at: number) => Failure[] = () => []) {
    return Array.from({ length: count }, (_, at) =>
      logOf(
        input(snapshot, {
          seed: at * 2_654_435,
          now: T0 + at,
          decisionId: `d${at}`,
          request: {
            facts: facts({ id: `r${at}`, inputTokens: 1_000, maxOutputTokens: 500 }),
            key: key(["g"]),
          },
        }),
        failures(at),
      ),
    ).flat();
  }

  const priced = (id: string, weight: number, output: number) =>
    deployment(id, { weight, price: { input: 1, output } });

  const half = withKeys(config([group("g", [priced("a/m", 1, 10), priced("b/m", 1, 2)])]));

  it("invariant 1: nothing moves under the same config, whatever happened", () => {
    fc.assert(
      fc.property(fc.array(story, { minLength: 1, maxLength: 4 }), (stories) => {
        const [[{ config: snapshot }] = [undefined as never]] = stories;
        const lines = stories.flatMap(([made, failures], at) =>
          logOf({ ...made, config: snapshot, decisionId: `d${at}`, seed: made.seed + at }, failures),
        );
        const report = replay(lines, snapshot);
        expect(report.moved).toBe(0);
        expect(report.total.after).toEqual(report.total.before);
        for (const { before, after: replayed } of [...report.groups, ...report.deployments])
          expect(replayed).toEqual(before);
        expect(report.ends).toMatchObject({ own: 0, drawn: 0, unknown: 0 });
        expect(report.changes).toMatchObject({ share: 0, cost: 0 });
      }),
      { numRuns: 200 },
    );
  });

  it("is deterministic under any other config, and loses no request", () => {
    fc.assert(
      fc.property(fc.array(story, { minLength: 1, maxLength: 4 }), worldWithKey, (stories, other) => {
        const [[{ config: snapshot }] = [undefined as never]] = stories;
        const lines = stories.flatMap(([made, failures], at) =>
          logOf({ ...made, config: snapshot, decisionId: `d${at}` }, failures),
        );
        const candidate = { ...other.config, hash: "222222222222" };
        const [once, again] = [replay(lines, candidate), replay(lines, candidate)];
        expect(JSON.stringify(again)).toBe(JSON.stringify(once));
        expect(once.log).toMatchObject({ requests: stories.length, orphans: 0 });
        for (const side of [once.total.before, once.total.after]) expect(side.requests).toBe(stories.length);
        const { answered, failed, calls: called } = once.total.after;
        expect(answered + failed).toBe(called);
      }),
      { numRuns: 200 },
    );
  });

  it("shows how shares and the price move with the weights", () => {
    const lines = traffic(half, 1_000);
    const moved = withKeys(config([group("g", [priced("a/m", 1, 10), priced("b/m", 9, 2)])]), "222222222222");
    const report = replay(lines, moved);
    const [a] = report.deployments;
    expect(Math.abs((a?.before.share ?? 0) - 50)).toBeLessThan(2.5);
    expect(Math.abs((a?.after.share ?? 0) - 10)).toBeLessThan(2.5);
    expect(report.changes.share).toBeCloseTo((a?.before.share ?? 0) - (a?.after.share ?? 0), 9);
    // Of 1,000 input and 500 output tokens: 0.006 at a, 0.002 at b.
    const { total } = report;
    expect(total.before.costUsd).toBeCloseTo(
      (a?.before.calls ?? 0) * 0.006 + (1_000 - (a?.before.calls ?? 0)) * 0.002,
      6,
    );
    expect(total.after.costUsd).toBeLessThan(total.before.costUsd);
    expect(report.changes.cost).toBeLessThan(-20);
    // Only those that a loses move; all others stay where they were.
    expect(report.moved).toBe((a?.before.calls ?? 0) - (a?.after.calls ?? 0));
  });

  it("takes the tokens that were used where the log knows them", () => {
    const lines = traffic(half, 1);
    lines.push(recordOutcome({ decision: "d0", usage: { input: 2_000_000, output: 0 } }));
    expect(replay(lines, half).total).toMatchObject({ before: { costUsd: 2 }, after: { costUsd: 2 } });
  });

  it("prices the kinds of tokens that the log tells apart", () => {
    const price = { input: 1, output: 10, cachedInput: 0.1, cacheWrite: 2, audioInput: 5, audioOutput: 20 };
    const kinds = withKeys(config([group("g", [deployment("a/m", { price })])]));
    const lines = traffic(kinds, 1);
    const million = 1_000_000;
    const usage = {
      input: 4 * million,
      output: 2 * million,
      cached: million,
      cacheWritten: million,
      audioInput: million,
      reasoning: million,
      audioOutput: million,
    };
    lines.push(recordOutcome({ decision: "d0", usage }));
    const costUsd = 1 + 0.1 + 2 + 5 + 10 + 20;
    expect(replay(lines, kinds).total).toMatchObject({ before: { costUsd }, after: { costUsd } });
  });

  it("follows failures as they were, and draws others by the rate of the deployment", () => {
    // Whoever goes to a first fails there once in two; b never does.
    const lines = traffic(half, 1_000, (at) => (at % 2 === 0 ? [{ error: "overloaded", tookMs: 5 }] : []));
    const bench = { failures: 0 };
    const retry = { maxRetries: 0 };
    const onlyA = withKeys(config([group("g", [priced("a/m", 1, 10)], { bench, retry })]), "222222222222");
    const report = replay(lines, onlyA);
    const failed = report.deployments.find(({ deployment: id }) => id === "a/m");
    const rate = (failed?.after.failed ?? 0) / (failed?.after.calls ?? 1);
    const observed = (failed?.before.failed ?? 0) / (failed?.before.calls ?? 1);
    expect(rate).toBeGreaterThan(0.2);
    expect(Math.abs(rate - observed)).toBeLessThan(0.25);
    expect(report.ends.recorded).toBeGreaterThan(0);
    expect(report.ends.drawn).toBeGreaterThan(0);
    expect(report.changes.failureRate).toBeCloseTo(100 * rate, 6);
    expect(report.deployments.find(({ deployment: id }) => id === "b/m")).toMatchObject({
      gone: true,
      after: { calls: 0 },
    });
  });

  it("counts the caller's own mistakes at no deployment: they fail anywhere (E1)", () => {
    const lines = traffic(half, 10, () => [{ error: "invalid_request" }]);
    const onlyC = withKeys(config([group("g", ["c/m"])]), "222222222222");
    const report = replay(lines, onlyC);
    expect(report.total.after).toMatchObject({ requests: 10, answered: 0, failed: 10 });
    expect(report.ends).toMatchObject({ own: 10, drawn: 0 });
  });

  it("shows who would be refused", () => {
    const lines = traffic(half, 4);
    const ungranted = { ...withKeys(half, "222222222222"), keys: new Map([["k", key(["other"])]]) };
    const report = replay(lines, ungranted);
    expect(report.refusals).toEqual([{ code: "model_not_allowed", before: 0, after: 4 }]);
    expect(report).toMatchObject({ moved: 4, changes: { failureRate: 100, cost: -100 } });
    const unknown = replay(lines, { ...ungranted, keys: new Map() });
    expect(unknown.refusals).toEqual([{ code: "invalid_api_key", before: 0, after: 4 }]);
  });

  it("knows a benched deployment's state also where the log's own decision did not ask for it", () => {
    const wide = withKeys(config([group("g", ["a/m"]), group("h", ["b/m"])]));
    const health = {
      version: 1,
      benches: new Map([
        [
          "m:b/m",
          {
            policy: {
              key: "m:b/m",
              scope: "model",
              until: T0 + 60_000,
              since: T0,
              reason: "failures",
              group: "p/h",
            } as const,
            manual: undefined,
            policyClearedAt: 0,
            manualClearedAt: 0,
          },
        ],
      ]),
    };
    const ask = (model: string, id: string): string[] =>
      logOf(
        input(wide, { health, decisionId: id, request: { facts: facts({ model }), key: key(["g", "h"]) } }),
        [],
      );
    const lines = [...ask("h", "d0"), ...ask("g", "d1")];
    const joined = withKeys(
      config([group("g", ["a/m", deployment("b/m", { weight: 1_000 })])]),
      "222222222222",
    );
    expect(calls(replay(lines, joined), "after")).toMatchObject({ "a/m": 1 });
  });

  it("counts what is missing: lines that were dropped, and requests that began elsewhere", () => {
    const [, second = ""] = traffic(half, 1, () => [{ error: "overloaded" }]);
    const report = replay([recordDropped(7), second], half);
    expect(report.log).toMatchObject({ decisions: 1, requests: 0, orphans: 1, dropped: 7, from: 0 });
  });

  it("holds a bounded number of requests at a time, and loses none of a long log", () => {
    const [text = ""] = traffic(half, 1);
    const line = parseLine(text);
    if (line.kind !== "decision") throw new Error("a decision was recorded");
    const run = new Replay(half, new Observed());
    const count = 25_000;
    for (let at = 0; at < count; at += 1) run.add({ ...line, id: `d${at}` });
    // It comes long after its request.
    run.add({ kind: "outcome", decision: "d0", ...NOTHING, error: "overloaded" });
    run.add({ kind: "outcome", decision: `d${count - 1}`, ...NOTHING, error: "overloaded" });
    const { log, total, moved } = run.finish();
    expect(log).toMatchObject({ requests: count, decisions: count });
    expect(total.before).toMatchObject({ requests: count, failed: 1 });
    expect(moved).toBe(0);
  });
});
