import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  decide,
  type DecideInput,
  type Decided,
  type Group,
  LoadLedger,
  MAX_HOPS,
  requestsThisMinute,
  wasCalled,
} from "../src/index.ts";
import { after } from "./builders.ts";
import type { Failure } from "./builders.ts";
import { failure, world } from "./worlds.ts";

const MAX_STEPS = 200;

/** Fails every attempt until a refusal; calls `look` at each decision. */
function drive(
  first: DecideInput,
  failures: readonly Failure[],
  look: (at: DecideInput, decided: Decided) => void,
): number {
  let at = first;
  for (let step = 0; step < MAX_STEPS; step += 1) {
    const decided = decide(at);
    look(at, decided);
    if (decided.decision.kind === "refuse") return step;
    at = after(at, decided, failures[step % failures.length] ?? { error: "server_error" });
  }
  throw new Error("does not end");
}

/** Checks every decision of many random requests; how many it has looked at. */
function law(check: (at: DecideInput, decided: Decided) => void): number {
  let decisions = 0;
  const counted = (at: DecideInput, decided: Decided): void => {
    decisions += 1;
    check(at, decided);
  };
  const failures = fc.array(failure, { minLength: 1, maxLength: 12 });
  fc.assert(
    fc.property(world, failures, (first, list) => void drive(first, list, counted)),
    { numRuns: 300 },
  );
  return decisions;
}

describe("laws of decide", () => {
  it("invariant 1: the same input gives the same bytes", () => {
    const decisions = law((at, decided) => {
      const bytes = (value: Decided) => JSON.stringify([value.decision, value.effects, value.history]);
      expect(bytes(decide(at))).toBe(bytes(decided));
      expect(bytes(decide({ ...at, explain: true }))).toBe(bytes(decided));
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("R1, R7 never a deployment that is paused, not ready, tried, or benched but for the last resort", () => {
    const decisions = law((at, { decision, history }) => {
      if (decision.kind === "refuse") return;
      const { deployment: chosen, group: of, step } = decision;
      expect(chosen.paused).toBe(false);
      expect(at.load.notReady.has(chosen.provider)).toBe(false);
      const tried = history.attempts.some((one) => one.group === of.key && one.deployment === chosen.id);
      expect(tried).toBe(step === "retry");
      const isBenched = Object.values(chosen.scopes).some(
        (scope) => (at.health.benches.get(scope)?.policy?.until ?? 0) > at.now,
      );
      expect(isBenched).toBe(decision.lastResort || decision.probe);
      expect(decision.lastResort && decision.probe).toBe(false);
      if (decision.lastResort) expect(history.attempts.every((one) => one.group !== of.key)).toBe(true);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("S5 never one at its own limit, but the last resort of R7 that is benched", () => {
    const decisions = law((at, { decision }) => {
      if (decision.kind === "refuse" || decision.lastResort) return;
      const { limits, scopes } = decision.deployment;
      const rpm = limits?.rpm ?? Number.POSITIVE_INFINITY;
      expect(requestsThisMinute(at.load.deployments?.get(scopes.model), at.now)).toBeLessThan(rpm);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("B4, BH-08 a probe takes the slot of every bench that it probes, and nothing else takes one", () => {
    let probes = 0;
    law((at, { decision, effects, history }) => {
      const taken = effects.filter((effect) => effect.kind === "probe");
      expect(taken).toHaveLength(decision.kind === "attempt" && decision.probe ? 1 : 0);
      for (const { keys, expiresAt } of taken) {
        probes += 1;
        expect(history.attempts).toEqual([]);
        expect(expiresAt).toBeGreaterThan(at.now);
        for (const key of keys) {
          expect(at.health.benches.get(key)?.probe?.router).toBe(at.router);
          expect(at.load.probes?.get(key)?.until ?? 0).toBeLessThanOrEqual(at.now);
        }
      }
    });
    expect(probes).toBeGreaterThan(10);
  });

  it("F1 a first pick with a key does not depend on the draw, the load or the time of day", () => {
    let placed = 0;
    law((at, { decision, history }) => {
      if (decision.kind === "refuse" || decision.affinity === undefined || history.attempts.length > 0)
        return;
      if (decision.probe || decision.group.policy.bench.ramp?.length !== 0) return;
      placed += 1;
      const other = decide({ ...at, seed: at.seed + 1, load: { ...at.load, places: new Map() } });
      if (other.decision.kind === "refuse" || other.decision.probe) return;
      expect(other.decision.deployment.id).toBe(decision.deployment.id);
    });
    expect(placed).toBeGreaterThan(30);
  });

  it("invariant 3 effects of any decision fit the ledger, and what they open ends", () => {
    law((at, { effects }) => {
      const ledger = new LoadLedger();
      ledger.apply(effects, at.now);
      const leases = effects.filter(({ kind }) => kind === "lease").length;
      expect(ledger.leases).toBe(leases);
      ledger.tick(at.now + 10_000_000);
      expect(ledger.leases).toBe(0);
      expect(ledger.snapshot(new Set()).probes?.size).toBe(0);
    });
  });

  it("R2, G5 never a group that was neither asked for nor a fallback", () => {
    const decisions = law((_, { decision, history }) => {
      if (decision.kind === "refuse") return;
      const reached =
        history.hops.length === 0 ? history.asked : history.hops[history.hops.length - 1]?.group;
      expect(decision.group.key).toBe(reached);
      expect(decision.fallback === undefined).toBe(decision.group.key === history.asked);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E4 attempts never exceed max_attempts of the group asked for, whatever fails", () => {
    const decisions = law((at, { decision, history }) => {
      const asked = at.config.groups.get("p/g") as Group;
      const made = history.attempts.filter(wasCalled).length + (decision.kind === "attempt" ? 1 : 0);
      expect(made).toBeLessThanOrEqual(asked.policy.maxAttempts);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E10 deployments called never exceed max_deployments of the group asked for", () => {
    const decisions = law((at, { decision, history }) => {
      const max = at.config.groups.get("p/g")?.policy.failover.maxDeployments ?? 0;
      const called = new Set(
        history.attempts.filter(wasCalled).map((one) => `${one.group} ${one.deployment}`),
      );
      if (decision.kind === "attempt") called.add(`${decision.group.key} ${decision.deployment.id}`);
      if (max > 0) expect(called.size).toBeLessThanOrEqual(max);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E4, G3 at most three hops, and no group twice", () => {
    const decisions = law((_, { history }) => {
      const groups = [history.asked, ...history.hops.map((hop) => hop.group)];
      expect(history.hops.length).toBeLessThanOrEqual(MAX_HOPS);
      expect(new Set(groups).size).toBe(groups.length);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E1, BH-03 a deployment has one run of attempts, no longer than its retries", () => {
    const decisions = law((at, { history }) => {
      const seen = new Set<string>();
      let run = "";
      let length = 0;
      for (const one of history.attempts) {
        const id = `${one.group} ${one.deployment}`;
        length = id === run ? length + 1 : 1;
        if (id !== run) expect(seen.has(id)).toBe(false);
        expect(length).toBeLessThanOrEqual(
          1 + (at.config.groups.get(one.group)?.policy.retry.maxRetries ?? 0),
        );
        seen.add(id);
        run = id;
      }
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E4, E5 delay and time-out together never pass request_timeout or the deadline", () => {
    const decisions = law((at, { decision }) => {
      if (decision.kind === "refuse") return;
      const { requestTimeoutMs } = (at.config.groups.get("p/g") as Group).policy;
      const { deadline, arrivedAt } = at.request.facts;
      const end = Math.min(
        requestTimeoutMs > 0 ? arrivedAt + requestTimeoutMs : Infinity,
        deadline ?? Infinity,
      );
      if (end === Infinity) return;
      expect(decision.timeoutMs).toBeGreaterThan(0);
      expect(at.now + decision.delayMs + decision.timeoutMs).toBeLessThanOrEqual(end);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E1 nothing follows the caller's own mistake but its own fallback, and nothing a departure", () => {
    const decisions = law((_, { decision, history }) => {
      const last = history.attempts[history.attempts.length - 1]?.error;
      if (last === "cancelled") expect(decision).toMatchObject({ kind: "refuse", code: "client_closed" });
      if (last === "invalid_request" || last === "payload_too_large") expect(decision.kind).toBe("refuse");
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("E7 a refusal after a call is exhausted, one before is not", () => {
    const decisions = law((_, { decision, history }) => {
      if (decision.kind === "attempt") return;
      const last = history.attempts[history.attempts.length - 1]?.error;
      const ended =
        last === "cancelled" || decision.message.startsWith("The provider did not answer in time");
      if (!ended) expect(decision.exhausted).toBe(history.attempts.some(wasCalled));
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("R8 the explanation chooses what the decision does", () => {
    const decisions = law((at) => {
      const { decision, explanation } = decide({ ...at, explain: true });
      const chosen = explanation?.groups.flatMap((one) =>
        one.candidates
          .filter(({ verdict }) => verdict === "chosen")
          .map((two) => `${one.group} ${two.deployment}`),
      );
      const expected = decision.kind === "attempt" ? [`${decision.group.key} ${decision.deployment.id}`] : [];
      expect(chosen).toEqual(expected);
    });
    expect(decisions).toBeGreaterThan(300);
  });

  it("H4 the deployment said to come next is another one of the group", () => {
    const decisions = law((_, { decision }) => {
      if (decision.kind === "refuse" || decision.next === undefined) return;
      const ids = decision.group.deployments.map(({ id }) => id);
      expect(ids).toContain(decision.next);
      expect(decision.next).not.toBe(decision.deployment.id);
    });
    expect(decisions).toBeGreaterThan(300);
  });
});
