import { describe, expect, it } from "vitest";
import { BUDGET_WINDOW_MS, budgetLevel, decide, LoadLedger } from "../src/index.ts";
import { after, brief, config, group, input, T0 } from "./builders.ts";
import type { Failure, PolicyOverride } from "./builders.ts";

const budgeted = (budget: NonNullable<PolicyOverride["retry"]>["budget"], more: PolicyOverride = {}) =>
  group("g", ["a/m", "b/m", "c/m"], { ...more, retry: { maxRetries: 0, budget, ...more.retry } });

/** Sends requests that all fail with `failure`; calls made, over `count` requests `gapMs` apart. */
function outage(of: ReturnType<typeof budgeted>, count: number, gapMs: number, failure: Failure): number {
  const ledger = new LoadLedger();
  let calls = 0;
  for (let request = 0; request < count; request += 1) {
    const now = T0 + request * gapMs;
    let at = input(config([of, group("h", ["z/m"])]), { now, decisionId: `d${request}` });
    at = { ...at, request: { ...at.request, facts: { ...at.request.facts, arrivedAt: now } } };
    for (;;) {
      const decided = decide({ ...at, load: ledger.snapshot(new Set()) });
      ledger.apply(decided.effects, at.now);
      if (decided.decision.kind === "refuse") break;
      calls += 1;
      at = after(at, decided, { ...failure, tookMs: 0 });
    }
  }
  return calls;
}

describe("retry budget", () => {
  const down: Failure = { error: "server_error", status: 500 };

  it("issue 3: an outage is not multiplied: further calls stay within the share and the rate", () => {
    const seconds = 100;
    const requests = seconds * 100;
    const calls = outage(budgeted({ share: 0.2, perSecond: 10 }), requests, 10, down);
    const further = calls - requests;
    expect(further).toBeGreaterThan(0.9 * (0.2 * requests + 10 * seconds));
    expect(further).toBeLessThan(1.1 * (0.2 * requests + 10 * (seconds + BUDGET_WINDOW_MS / 1_000)));
    expect(outage(budgeted(undefined), 100, 10, down)).toBe(300);
  });

  it("issue 3: refuses retries, failovers and general fallbacks with the provider's own answer", () => {
    const nothing = { share: 0, perSecond: 0 };
    const more = { retry: { maxRetries: 2, budget: nothing }, fallback: { general: "h" } };
    const first = input(config([budgeted(nothing, more), group("h", ["z/m"])]), { explain: true });
    const one = decide(first);
    const two = decide(after(first, one, down));
    expect(two.decision).toMatchObject({ kind: "refuse", exhausted: true });
    expect(two.explanation?.steps.map(({ rule }) => rule)).toContain("retry.budget");
  });

  it("G4, R10 context fallbacks and moves from a deployment that was not ready are free", () => {
    const nothing = { share: 0, perSecond: 0 };
    const of = budgeted(nothing, { fallback: { context: "h" } });
    const first = input(config([of, group("h", ["z/m"])]));
    const context = decide(after(first, decide(first), { error: "context_length", status: 400 }));
    expect(brief(context)).toBe("z/m");
    const moved = decide(after(first, decide(first), { error: "not_ready" }));
    expect(moved.decision).toMatchObject({ kind: "attempt", step: "failover" });
    for (const decided of [context, moved]) {
      expect(decided.effects.some(({ kind }) => kind === "budget")).toBe(false);
    }
  });

  it("issue 3: routers share the rate, and a quiet time saves up no storm", () => {
    const policy = { share: 0.2, perSecond: 10 };
    expect(budgetLevel(undefined, policy, 4, T0)).toBe(25);
    expect(budgetLevel({ level: 0, at: T0 }, policy, 1, T0 + 600_000)).toBeCloseTo(100);
    expect(budgetLevel({ level: 5_000, at: T0 }, policy, 1, T0 + 600_000)).toBeCloseTo(100);
  });

  it("is off where the policy has none", () => {
    const decided = decide(input(config([budgeted(undefined)])));
    expect(decided.effects.map(({ kind }) => kind)).toEqual(["lease"]);
  });
});
