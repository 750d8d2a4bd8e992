import { describe, expect, it } from "vitest";
import { LoadCounters, loadKeyLookup, minuteOf, NOT_SERVED } from "../src/index.ts";
import { config, group, T0 } from "./builders.ts";

const call = { load: "m:a/m", tokens: 100, ownKey: false };
const served = { served: true, firstTokenMs: 120, tokens: 60, streamedTokens: 50, streamedMs: 900 };

describe("a forwarder's counters", () => {
  it("BH-09, invariant 3 a call counts from its decision to its end, and ends once", () => {
    const counters = new LoadCounters("f");
    const one = counters.begin(call, T0);
    expect(counters.report(T0)).toMatchObject({
      sequence: 1,
      deployments: [{ inFlight: 1, requests: 1, tokens: 100 }],
    });
    one.end(served, T0 + 500);
    one.end(served, T0 + 600);
    expect(counters.inFlight).toBe(0);
    expect(counters.report(T0 + 700)).toMatchObject({
      sequence: 2,
      deployments: [
        { inFlight: 0, requests: 1, tokens: 60, measured: 1, firstTokenMs: 120, streamedTokens: 50 },
      ],
    });
  });

  it("says each measurement once, and nothing where there is nothing to say", () => {
    const counters = new LoadCounters("f");
    expect(counters.report(T0)).toBeUndefined();
    counters.begin(call, T0).end(served, T0);
    expect(counters.report(T0)?.deployments[0]?.measured).toBe(1);
    expect(counters.report(T0 + 100)).toBeUndefined();
    const running = counters.begin(call, T0 + 200);
    counters.report(T0 + 200);
    expect(counters.report(T0 + 300)?.deployments).toMatchObject([{ inFlight: 1, measured: 0 }]);
    running.end(NOT_SERVED, T0 + 400);
    expect(counters.report(T0 + 400)?.deployments).toMatchObject([{ inFlight: 0, measured: 0 }]);
  });

  it("BH-10 what failed is not measured, and what it was expected to use is given back", () => {
    const counters = new LoadCounters("f");
    counters.begin(call, T0).end({ ...NOT_SERVED, firstTokenMs: 5 }, T0);
    expect(counters.report(T0)?.deployments).toMatchObject([
      { requests: 1, tokens: 0, measured: 0, firstTokenMs: 0 },
    ]);
  });

  it("E9 a caller's own key is in flight and nothing else", () => {
    const counters = new LoadCounters("f");
    const own = counters.begin({ ...call, ownKey: true }, T0);
    expect(counters.report(T0)?.deployments).toMatchObject([{ inFlight: 1, requests: 0, tokens: 0 }]);
    own.end(served, T0);
    expect(counters.report(T0)?.deployments).toMatchObject([{ inFlight: 0, tokens: 0, measured: 0 }]);
  });

  it("S5 counts belong to a minute; what runs on is held over, what is idle is forgotten", () => {
    const counters = new LoadCounters("f");
    const running = counters.begin(call, T0 + 59_000);
    counters.begin({ ...call, load: "m:b/m" }, T0 + 59_000).end(NOT_SERVED, T0 + 59_500);
    const next = T0 + 60_000;
    expect(counters.report(next)?.deployments).toMatchObject([
      { load: "m:a/m", inFlight: 1, minute: minuteOf(next), requests: 0, tokens: 100 },
    ]);
    running.end(served, next + 1_000);
    expect(counters.report(next + 1_000)?.deployments).toMatchObject([{ tokens: 60 }]);
  });

  it("a config says which deployment counts where, direct groups included", () => {
    const lookup = loadKeyLookup(config([group("g", ["a/m"])]));
    expect([lookup("p/g", "a/m"), lookup("p//a/m", "a/m"), lookup("p/g", "x"), lookup("p/x", "a/m")]).toEqual(
      ["m:a/m", "m:a/m", undefined, undefined],
    );
  });
});
