import { describe, expect, it } from "vitest";
import { decide, type Group, type LoadSnapshot, type Policy } from "../src/index.ts";
import { brief, config, deployment, group, input, run } from "./builders.ts";

const REQUESTS = 10_000;

/** Shares of `REQUESTS` first picks, by deployment id, in percentage points. */
function shares(of: Group): Record<string, number> {
  const base = input(config([of]));
  const counts: Record<string, number> = {};
  for (let seed = 0; seed < REQUESTS; seed += 1) {
    // Seeds as routers draw them: unsigned, spread over 32 bits.
    const id = brief(decide({ ...base, seed: Math.imul(seed + 1, 0x9e3779b1) >>> 0 }));
    counts[id] = (counts[id] ?? 0) + 100 / REQUESTS;
  }
  return counts;
}

const weights = (given: Record<string, number>, override: Partial<Policy> = {}) =>
  group(
    "g",
    Object.entries(given).map(([id, weight]) => deployment(id, { weight })),
    override,
  );

describe("weighted", () => {
  it.each([
    { "a/m": 70, "b/m": 30 },
    { "a/m": 1, "b/m": 1, "c/m": 1 },
    { "a/m": 500_000, "b/m": 300_000, "c/m": 200_000, "d/m": 0 },
  ])("S1 shares of %j are within 1.5 points over 10,000 requests", (given) => {
    const total = Object.values(given).reduce((sum, weight) => sum + weight, 0);
    const counted = shares(weights(given));
    for (const [id, weight] of Object.entries(given)) {
      expect(Math.abs((counted[id] ?? 0) - (100 * weight) / total)).toBeLessThanOrEqual(1.5);
    }
  });

  it("S1 weight 0 takes nothing under off, also when another fails", () => {
    const off = weights({ "a/m": 1, "b/m": 0 });
    const all = run(input(config([off])), [{ error: "auth" }]);
    expect(all.map(brief)).toEqual(["a/m", "502 upstream_unreachable"]);
  });

  it("S1 weight 0 is tried last under standby, after every weighted one", () => {
    const standby = weights({ "z/m": 0, "a/m": 5, "b/m": 1 }, { zeroWeight: "standby" });
    for (let seed = 0; seed < 50; seed += 1) {
      const all = run(input(config([standby]), { seed }), [{ error: "auth" }, { error: "auth" }]);
      expect(brief(all[2] ?? decide(input(config([standby]))))).toBe("z/m");
    }
  });
});

describe("order after the first pick", () => {
  it("S2 by weight, highest first, ties by position", () => {
    const list = weights({ "a/m": 1, "b/m": 9, "c/m": 4, "d/m": 4 });
    for (let seed = 0; seed < 50; seed += 1) {
      const all = run(
        input(config([list]), { seed }),
        Array.from({ length: 3 }, () => ({ error: "auth" }) as const),
      );
      const [picked, ...rest] = all.map(brief);
      expect(rest).toEqual(["b/m", "c/m", "d/m", "a/m"].filter((id) => id !== picked));
    }
  });

  it("S2 by the strategy: shuffle draws again", () => {
    const base = group("g", ["a/m", "b/m", "c/m"], { strategy: "shuffle", failover: { order: "strategy" } });
    const seconds = new Set<string>();
    for (let seed = 0; seed < 100; seed += 1) {
      const [one, two] = run(input(config([base]), { seed }), [{ error: "auth" }]).map(brief);
      if (one === "a/m" && two !== undefined) seconds.add(two);
    }
    expect(seconds).toEqual(new Set(["b/m", "c/m"]));
  });
});

describe("shuffle", () => {
  it("S5 is uniform without weights and proportional with them", () => {
    const even = shares(group("g", ["a/m", "b/m", "c/m", "d/m"], { strategy: "shuffle" }));
    for (const share of Object.values(even)) expect(Math.abs(share - 25)).toBeLessThanOrEqual(1.5);
    const uneven = shares(weights({ "a/m": 3, "b/m": 1 }, { strategy: "shuffle" }));
    expect(Math.abs((uneven["a/m"] ?? 0) - 75)).toBeLessThanOrEqual(1.5);
  });

  it("S3 weight 0 stops no traffic where everything weighs 0", () => {
    const zero = shares(weights({ "a/m": 0, "b/m": 0 }, { strategy: "shuffle" }));
    expect(Math.abs((zero["a/m"] ?? 0) - 50)).toBeLessThanOrEqual(1.5);
  });
});

describe("round robin", () => {
  /** Decides `count` times, applying each effect as the ledger does. */
  function turns(count: number, start: Partial<Parameters<typeof input>[1]> = {}): string[] {
    const list = group("g", ["a/m", "b/m", "c/m"], {
      strategy: "round_robin",
      failover: { order: "strategy" },
    });
    let load: LoadSnapshot = { notReady: new Set(), places: new Map() };
    return Array.from({ length: count }, () => {
      const decided = decide(input(config([list]), { ...start, load }));
      for (const effect of decided.effects) {
        if (effect.kind === "place")
          load = { ...load, places: new Map(load.places).set(effect.place, effect.value) };
      }
      return brief(decided);
    });
  }

  it("S6 gives equal turns in the order of the list from a random start", () => {
    const starts = new Set<string>();
    for (let seed = 0; seed < 50; seed += 1) {
      const [one = "", two, three, four] = turns(4, { seed });
      starts.add(one);
      expect(new Set([one, two, three])).toEqual(new Set(["a/m", "b/m", "c/m"]));
      expect(four).toBe(one);
    }
    expect(starts.size).toBe(3);
  });

  it("S6, S2 the next in the list follows a failure, without using a turn", () => {
    const list = group("g", ["a/m", "b/m", "c/m"], {
      strategy: "round_robin",
      failover: { order: "strategy" },
    });
    const all = run(input(config([list]), { seed: 5 }), [{ error: "auth" }, { error: "auth" }]);
    const ids = all.map(brief);
    expect(`${ids.join(" ")} ${ids.join(" ")}`).toContain("a/m b/m c/m");
    expect(all.map(({ effects }) => effects.filter((effect) => effect.kind === "place").length)).toEqual([
      1, 0, 0,
    ]);
  });
});
