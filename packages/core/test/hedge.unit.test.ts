import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  appendAttempt,
  decide,
  EMPTY_LOAD,
  LoadCounters,
  LoadLedger,
  modelScope,
  NOT_SERVED,
  parseLine,
  recordDecision,
  SKETCH_SAMPLES,
  TimeSketch,
  timeBucket,
  callerLookup,
  verifyDecision,
  type Decided,
  type DecideInput,
  type DeploymentLoad,
  type RequestFacts,
} from "../src/index.ts";
import { brief, config, facts, group, input, key, T0 } from "./builders.ts";
import type { PolicyOverride } from "./builders.ts";

const COLD: DeploymentLoad = {
  inFlight: 0,
  minute: 0,
  requests: 0,
  tokens: 0,
  samples: 0,
  firstTokenMs: undefined,
  perTokenMs: undefined,
  successes: 0,
  failures: 0,
  measuredAt: 0,
  countedAt: 0,
};

const places = (saved: number): ReadonlyMap<string, number> => new Map([["hedge|p/g", saved]]);

/** A first decision at a deployment whose p95 is known, with hedges saved up. */
function asked(
  given: {
    readonly policy?: PolicyOverride;
    readonly deployments?: readonly string[];
    readonly saved?: number;
    readonly p95?: Partial<DeploymentLoad>;
    readonly facts?: Partial<RequestFacts>;
  } = {},
): DecideInput {
  const {
    deployments = ["a/m", "b/m", "c/m"],
    saved = 1,
    p95 = { wholeP95Ms: 400, streamP95Ms: 90 },
  } = given;
  const policy = { hedge: { share: 0.25 }, ...given.policy };
  const loads = deployments.map((id) => [modelScope(id.slice(0, 1), "m"), { ...COLD, ...p95 }] as const);
  return input(config([group("g", deployments, policy)]), {
    load: { ...EMPTY_LOAD, places: places(saved), deployments: new Map(loads) },
    request: { facts: facts(given.facts), key: key(["g"]) },
  });
}

function hedgeAfter({ decision }: Decided): number | undefined {
  return decision.kind === "attempt" ? decision.hedgeAfterMs : undefined;
}

/** The question for a second attempt beside the one that was decided. */
function beside(first: DecideInput, decided = decide(first), more: Partial<DecideInput> = {}): DecideInput {
  const { decision } = decided;
  if (decision.kind !== "attempt") throw new Error("nothing runs");
  const running = {
    decision: first.decisionId,
    group: decision.group.key,
    deployment: decision.deployment.id,
    startedAt: first.now,
  };
  return { ...first, history: decided.history, running, now: first.now + 400, decisionId: "d2", ...more };
}

describe("hedge: when a second attempt is asked for", () => {
  it("after the deployment's own p95, of streams and of others apart", () => {
    expect(hedgeAfter(decide(asked()))).toBe(400);
    expect(hedgeAfter(decide(asked({ facts: { stream: true } })))).toBe(90);
  });

  it.each([
    ["off", { policy: { hedge: undefined } }],
    ["no history", { p95: {} }],
    ["nobody else", { deployments: ["a/m"] }],
    ["a p95 past the time left", { policy: { requestTimeoutMs: 400 } }],
    ["a response to be kept", { facts: { store: true } }],
    ["a caller's own key (E9)", { facts: { ownKeyProvider: "a" } }],
    ["contents of one account (BH-31)", { facts: { originProvider: "a" } }],
  ] as const)("never with %s", (_why, given) => {
    expect(hedgeAfter(decide(asked(given)))).toBeUndefined();
  });
});

describe("hedge: who makes it", () => {
  it("the deployment that would come next, at once, beside the one that runs", () => {
    const first = asked();
    const decided = decide(first);
    const second = decide(beside(first, decided));
    const { decision } = decided;
    expect(second.decision).toMatchObject({ kind: "attempt", step: "hedge", delayMs: 0 });
    expect(decision.kind === "attempt" && decision.next).toBe(brief(second));
    expect(hedgeAfter(second)).toBeUndefined();
    expect(second.history).toMatchObject({ attempts: [], hedged: true });
    expect(second.effects).toContainEqual({ kind: "place", place: "hedge|p/g", value: 0 });
  });

  it.each([
    ["the share used up", { saved: 0.99 }],
    ["max_attempts", { policy: { maxAttempts: 1 } }],
    ["max_deployments (E10)", { policy: { failover: { maxDeployments: 1 } } }],
    ["a retry budget that is spent", { policy: { retry: { budget: { share: 0, perSecond: 0 } } } }],
    ["nobody else", { deployments: ["a/m"] }],
    ["a large body (E8)", { policy: { maxRetryBodyBytes: 10 } }],
  ] as const)("nobody with %s", (_why, given) => {
    const { decision, effects } = decide(beside(asked(given)));
    expect(decision).toMatchObject({ kind: "refuse", code: "not_hedged" });
    expect(effects).toEqual([]);
  });

  it("once for each request, and it counts as a call (E4)", () => {
    const first = asked({ policy: { maxAttempts: 3, retry: { maxRetries: 0 } } });
    const hedged = decide(beside(first));
    expect(brief(decide(beside(first, hedged)))).toBe("409 not_hedged");
    const end = {
      error: "server_error",
      status: 500,
      retryAfterMs: undefined,
      startedAt: T0,
      endedAt: T0,
    } as const;
    const both = ["a/m", "b/m"].reduce(
      (history, deployment) =>
        appendAttempt(history, { ...end, decision: deployment, group: "p/g", deployment }),
      hedged.history,
    );
    const third = decide({ ...first, history: both });
    expect([brief(third), hedgeAfter(third)]).toEqual(["c/m", undefined]);
    const last = { ...end, decision: "c", group: "p/g", deployment: "c/m" };
    expect(decide({ ...first, history: appendAttempt(both, last) }).decision).toMatchObject({
      exhausted: true,
    });
  });

  it("never more than the share of the requests, whatever the order of events", () => {
    fc.assert(
      fc.property(
        fc.constantFrom(0, 0.02, 0.25, 1),
        fc.array(fc.boolean(), { minLength: 1, maxLength: 300 }),
        (share, slow) => {
          const ledger = new LoadLedger();
          let hedges = 0;
          for (const [index, isSlow] of slow.entries()) {
            const of = asked({ policy: { hedge: { share } } });
            const load = { ...of.load, places: ledger.snapshot(new Set()).places };
            const first = { ...of, load, decisionId: `d${index}` };
            const decided = decide(first);
            ledger.apply(decided.effects, T0);
            if (!isSlow) continue;
            const second = decide(beside({ ...first, load }, decided, { decisionId: `h${index}` }));
            ledger.apply(second.effects, T0);
            if (second.decision.kind === "attempt") hedges += 1;
          }
          expect(hedges).toBeLessThanOrEqual(share * slow.length + 1e-6);
        },
      ),
      { numRuns: 30 },
    );
  });

  it("invariant 1: its line in the log is decided again bit for bit", () => {
    const first = asked();
    for (const question of [beside(first), beside(asked({ saved: 0 }))]) {
      const line = parseLine(recordDecision(question, decide(question)));
      if (line.kind !== "decision") throw new Error("no decision");
      const callers = callerLookup({ ...question.config, keys: new Map([["x", key(["g"])]]) });
      expect(verifyDecision(line, question.config, callers)).toEqual({ kind: "same" });
    }
  });
});

describe("p95 of a deployment", () => {
  it("is unknown before 20 samples, and at most 9 % above the truth", () => {
    const sketch = new TimeSketch();
    for (let count = 1; count < SKETCH_SAMPLES; count += 1) sketch.add(timeBucket(100), 1);
    expect(sketch.p95Ms).toBeUndefined();
    for (let ms = 1; ms <= 400; ms += 1) sketch.add(timeBucket(ms), 1);
    expect(sketch.p95Ms).toBeGreaterThanOrEqual(380);
    expect(sketch.p95Ms).toBeLessThanOrEqual(380 * 1.1);
  });

  it("forgets what was long ago, whatever reports hold", () => {
    const sketch = new TimeSketch();
    sketch.add(timeBucket(9_000), 900);
    for (const bad of [-1, 1.5, 10_000, Number.NaN]) sketch.add(bad, 1);
    for (const bad of [-5, 0, Number.NaN]) sketch.add(3, bad);
    expect(sketch.p95Ms).toBeGreaterThan(8_999);
    for (let count = 0; count < 8_000; count += 1) sketch.add(timeBucket(50), 1);
    expect(sketch.p95Ms).toBeLessThan(60);
  });

  it("comes of reports: streams and others apart, of an overtaken call the time that it had", () => {
    const ledger = new LoadLedger();
    const counters = new LoadCounters("f");
    const load = modelScope("a", "m");
    for (let count = 0; count < 40; count += 1) {
      const call = counters.begin({ load, tokens: 1, ownKey: false }, T0);
      const streams = count % 2 === 0;
      if (streams) call.end({ ...NOT_SERVED, begun: { streams, ms: 2_000 } }, T0);
      else call.end({ ...NOT_SERVED, served: true, firstTokenMs: 10, begun: { streams, ms: 10 } }, T0);
    }
    const report = counters.report(T0);
    if (report === undefined) throw new Error("nothing to say");
    ledger.report(report, T0);
    const known = ledger.snapshot(new Set()).deployments?.get(load);
    expect(known?.streamP95Ms).toBeGreaterThanOrEqual(2_000);
    expect(known?.wholeP95Ms).toBeLessThan(12);
    // A failure is never a fast answer.
    expect(known?.samples).toBe(20);
    expect(counters.report(T0 + 100)?.deployments[0]?.streamTimes).toBeUndefined();
  });
});
