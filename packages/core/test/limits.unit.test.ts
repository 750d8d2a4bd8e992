import { describe, expect, it } from "vitest";
import { decide, LoadLedger, type RateLimits } from "../src/index.ts";
import { benched, brief, config, deployment, facts, group, input, key, T0 } from "./builders.ts";

const limited = (limits: RateLimits, name = "g", fallback?: string) =>
  group(name, [deployment("a/m", { limits }), deployment("b/m", { limits })], {
    fallback: { general: fallback },
  });

/** Decides `count` requests of `maxOutputTokens` in one minute, each applied. */
function ask(of: ReturnType<typeof limited>[], count: number, maxOutputTokens = 10, now = T0 + 1_000) {
  const ledger = new LoadLedger();
  const request = { facts: facts({ bodyBytes: 40, maxOutputTokens, arrivedAt: now }), key: key(["g"]) };
  const all = Array.from({ length: count }, (_, seed) => {
    const load = ledger.snapshot(new Set());
    const decided = decide(input(config(of), { load, request, seed, decisionId: `d${seed}`, now }));
    ledger.apply(decided.effects, now);
    return decided;
  });
  return { all, ledger, request };
}

describe("limits of a deployment", () => {
  it("S5, R1 one at its requests a minute is skipped, all at theirs refuse until the minute is over", () => {
    const { all } = ask([limited({ rpm: 2, tpm: undefined })], 5);
    expect(all.slice(0, 4).map(brief).toSorted()).toEqual(["a/m", "a/m", "b/m", "b/m"]);
    expect(all[4]?.decision).toMatchObject({
      kind: "refuse",
      status: 429,
      code: "rate_limit_exceeded",
      retryAfterMs: 60_000 - ((T0 + 1_000) % 60_000),
    });
  });

  it("S5 in the next minute it serves again", () => {
    const of = [limited({ rpm: 1, tpm: undefined })];
    const { ledger, request } = ask(of, 3);
    const now = T0 + 60_000;
    const next = decide(
      input(config(of), {
        load: ledger.snapshot(new Set()),
        request: { ...request, facts: facts({ arrivedAt: now }) },
        now,
      }),
    );
    expect(next.decision.kind).toBe("attempt");
  });

  it("S5, BH-11 what is under way counts with its estimate, so requests cannot walk through together", () => {
    const { all } = ask([limited({ rpm: undefined, tpm: 100 })], 12, 40);
    expect(all.map(({ decision }) => decision.kind)).toEqual([
      ...Array.from({ length: 4 }, () => "attempt"),
      ...Array.from({ length: 8 }, () => "refuse"),
    ]);
  });

  it("S5 a request larger than the whole limit is served when nothing else was used", () => {
    const { all } = ask([limited({ rpm: undefined, tpm: 100 })], 3, 5_000);
    expect(all.map(({ decision }) => decision.kind)).toEqual(["attempt", "attempt", "refuse"]);
  });

  it("R1, G1 all at their limits hop to the fallback group", () => {
    const spare = group("h", ["z/m"]);
    const { all } = ask([limited({ rpm: 1, tpm: undefined }, "g", "h"), spare], 3);
    expect(all[2]?.decision).toMatchObject({ kind: "attempt", step: "hop", fallback: "general" });
  });

  it("R1, R7 a benched one beside one at its limit is the last resort: the bench is the later filter", () => {
    const of = [limited({ rpm: 1, tpm: undefined })];
    const { ledger, request, all } = ask(of, 1);
    const full = brief(all[0] as (typeof all)[number]);
    const other = full === "a/m" ? "b/m" : "a/m";
    const health = benched({ [`m:${other}`]: T0 + 9_000 });
    const decided = decide(
      input(config(of), { load: ledger.snapshot(new Set()), request, health, now: T0 + 1_000 }),
    );
    expect(decided.decision).toMatchObject({ lastResort: true, deployment: { id: other } });
  });

  it("E9 a caller's own key has limits of its own", () => {
    const of = [limited({ rpm: 1, tpm: undefined })];
    const { ledger } = ask(of, 2);
    const request = { facts: facts({ ownKeyProvider: "a" }), key: key(["g"]) };
    const own = decide(input(config(of), { load: ledger.snapshot(new Set()), request, now: T0 + 1_000 }));
    expect(brief(own)).toBe("a/m");
    expect(own.effects).toMatchObject([{ kind: "lease", ownKey: true, tokens: 0 }]);
  });

  it("R8 the explanation names the limit", () => {
    const of = [limited({ rpm: 1, tpm: undefined })];
    const { ledger, request } = ask(of, 2);
    const { explanation } = decide(
      input(config(of), { load: ledger.snapshot(new Set()), request, now: T0 + 1_000, explain: true }),
    );
    expect(explanation?.groups[0]?.candidates.map(({ rule }) => rule)).toEqual([
      "S5 at its own limit this minute",
      "S5 at its own limit this minute",
    ]);
  });
});
