import { describe, expect, it } from "vitest";
import { decide } from "../src/index.ts";
import { after, benched, config, deployment, group, input, T0 } from "./builders.ts";

describe("explanation", () => {
  const snapshot = config([
    group("g", [deployment("a/m", { weight: 3 }), "b/m", deployment("c/m", { paused: true }), "d/m"]),
  ]);
  const first = input(snapshot, { explain: true, health: benched({ "m:d/m": T0 + 9_000 }) });

  it("R8 names for each deployment the rule that filtered it, or its score", () => {
    const { explanation, decision } = decide(first);
    expect(explanation).toMatchObject({ decision: "d1", configRevision: 1, healthVersion: 1, seed: 1 });
    const [only] = explanation?.groups ?? [];
    expect(only).toMatchObject({ group: "p/g", strategy: "weighted", draw: expect.any(Number) });
    const chosen = decision.kind === "attempt" ? decision.deployment.id : "";
    const verdict = (id: string) => (id === chosen ? "chosen" : "eligible");
    expect(only?.candidates).toEqual([
      { deployment: "a/m", verdict: verdict("a/m"), rule: undefined, score: 0.75 },
      { deployment: "b/m", verdict: verdict("b/m"), rule: undefined, score: 0.25 },
      { deployment: "c/m", verdict: "filtered", rule: "R6 paused or of weight 0", score: undefined },
      { deployment: "d/m", verdict: "filtered", rule: `R7 benched until ${T0 + 9_000}`, score: undefined },
    ]);
  });

  it("R8 tells what escalation did, step by step", () => {
    const next = decide(after(first, decide(first), { error: "overloaded" }));
    expect(next.explanation?.steps.map(({ rule }) => rule)).toEqual(["E1", "R1"]);
    const gone = decide(after(first, decide(first), { error: "invalid_request" }));
    expect(gone.explanation?.steps.map(({ rule }) => rule)).toEqual(["E1", "E7"]);
  });

  it("is not made unless asked for", () => {
    expect(decide({ ...first, explain: false }).explanation).toBeUndefined();
  });
});
