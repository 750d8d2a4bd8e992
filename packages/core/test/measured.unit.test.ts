import { describe, expect, it } from "vitest";
import {
  decide,
  type DeploymentLoad,
  type Group,
  LATENCY_HALF_LIFE_MS,
  type LoadSnapshot,
  minuteOf,
  type RequestFacts,
} from "../src/index.ts";
import { brief, config, deployment, facts, group, input, key, run, T0 } from "./builders.ts";
import { Gateway, type Call } from "./gateway.ts";
import type { PolicyOverride } from "./builders.ts";

/** A load, by deployment id; measured often enough not to be explored. */
function loads(given: Readonly<Record<string, Partial<DeploymentLoad>>>, count?: number): LoadSnapshot {
  const entries = Object.entries(given).map(([id, one]): [string, DeploymentLoad] => [
    `m:${id}`,
    {
      inFlight: 0,
      minute: minuteOf(T0),
      requests: 0,
      tokens: 0,
      samples: 100,
      firstTokenMs: undefined,
      perTokenMs: undefined,
      successes: 0,
      failures: 0,
      measuredAt: T0,
      countedAt: T0,
      ...one,
    },
  ]);
  const places = new Map(count === undefined ? [] : [["count|p/g", count]]);
  return { notReady: new Set(), places, deployments: new Map(entries) };
}

function chosen(of: Group, load: LoadSnapshot, more: Partial<RequestFacts> = {}): string {
  const request = { facts: facts(more), key: key(["g"]) };
  return brief(decide(input(config([of]), { load, request })));
}

const ids = ["a/m", "b/m", "c/m"];
const of = (strategy: NonNullable<PolicyOverride["strategy"]>, more: PolicyOverride = {}) =>
  group("g", ids, { strategy, ...more });

describe("least_busy", () => {
  it("S3 takes the one with the fewest requests in flight", () => {
    const load = loads({ "a/m": { inFlight: 3 }, "b/m": { inFlight: 1 }, "c/m": { inFlight: 2 } });
    expect(chosen(of("least_busy"), load)).toBe("b/m");
  });

  it("S3 weight only breaks ties, and weight 0 stops no traffic", () => {
    const uneven = group(
      "g",
      [deployment("a/m", { weight: 1 }), deployment("b/m", { weight: 5 }), deployment("c/m", { weight: 0 })],
      { strategy: "least_busy" },
    );
    const even = loads({ "a/m": { inFlight: 1 }, "b/m": { inFlight: 1 }, "c/m": { inFlight: 1 } });
    expect(chosen(uneven, even)).toBe("b/m");
    const free = loads({ "a/m": { inFlight: 1 }, "b/m": { inFlight: 1 }, "c/m": {} });
    expect(chosen(uneven, free)).toBe("c/m");
  });

  it("S7, BH-09 decisions of the same millisecond spread, and so do requests one after the other", () => {
    const at = new Gateway(of("least_busy"));
    const first = at.begin() as Call;
    at.succeed(first, 300);
    const together = Array.from({ length: 30 }, () => at.begin() as Call);
    const counts = (calls: readonly Call[]) =>
      ids.map((id) => calls.filter((call) => call.attempt.deployment.id === id).length);
    for (const count of counts(together)) {
      expect(count).toBeGreaterThanOrEqual(8);
      expect(count).toBeLessThanOrEqual(12);
    }
    for (const call of together) at.succeed(call, 300);
    const sequence = Array.from({ length: 30 }, () => {
      const call = at.begin() as Call;
      at.succeed(call, 300);
      return call;
    });
    for (const count of counts(sequence)) expect(count).toBeGreaterThanOrEqual(5);
    expect(ids.map((id) => at.inFlight(id))).toEqual([0, 0, 0]);
  });

  it("BH-09 failures and departures leave nothing in flight and never less than nothing", () => {
    const at = new Gateway(of("least_busy", { retry: { maxRetries: 0 } }));
    for (let request = 0; request < 20; request += 1) {
      let call = at.begin();
      for (const error of ["server_error", "stream_error", "cancelled"] as const) {
        if (call !== undefined) call = at.fail(call, error, 20);
      }
      expect(Math.min(...ids.map((id) => at.inFlight(id)))).toBe(0);
    }
    expect(ids.map((id) => at.inFlight(id))).toEqual([0, 0, 0]);
  });
});

describe("lowest_latency", () => {
  it("S3 takes the fastest; within a tenth the one with fewer in flight", () => {
    const strategy = of("lowest_latency");
    const apart = { "a/m": { firstTokenMs: 200 }, "b/m": { firstTokenMs: 90 }, "c/m": { firstTokenMs: 120 } };
    expect(chosen(strategy, loads(apart))).toBe("b/m");
    const close = {
      "a/m": { firstTokenMs: 100, inFlight: 2 },
      "b/m": { firstTokenMs: 95, inFlight: 3 },
      "c/m": { firstTokenMs: 300 },
    };
    expect(chosen(strategy, loads(close))).toBe("a/m");
  });

  it("S4 one with a single sample ranks, one without ranks after it", () => {
    const load = loads(
      { "a/m": { samples: 0 }, "b/m": { samples: 1, firstTokenMs: 500 }, "c/m": { samples: 0 } },
      0,
    );
    expect(chosen(of("lowest_latency"), load)).toBe("b/m");
  });

  it("S3 what nothing confirms fades, so that one slow answer does not shut a deployment out for ever", () => {
    const slow = (measuredAt: number) =>
      loads({
        "a/m": { firstTokenMs: 5_000, measuredAt },
        "b/m": { firstTokenMs: 200 },
        "c/m": { firstTokenMs: 200 },
      });
    expect(chosen(of("lowest_latency"), slow(T0 - LATENCY_HALF_LIFE_MS))).not.toBe("a/m");
    expect(chosen(of("lowest_latency"), slow(T0 - 6 * LATENCY_HALF_LIFE_MS))).toBe("a/m");
  });

  it("BH-10 a deployment that fails fast is not loved for it, and found again when it recovers", () => {
    const two = group("g", ["a/m", "b/m"], {
      strategy: "lowest_latency",
      retry: { maxRetries: 0 },
      bench: { failures: 0 },
    });
    const at = new Gateway(two);
    const request = (isUp: boolean): string => {
      const call = at.begin() as Call;
      const { id } = call.attempt.deployment;
      if (id === "b/m") at.succeed(call, 120);
      else if (isUp) at.succeed(call, 20);
      else at.succeed(at.fail(call, "server_error", 5) as Call, 120);
      return id;
    };
    const down = Array.from({ length: 30 }, () => request(false));
    expect(down.slice(-20).filter((id) => id === "a/m").length).toBeLessThanOrEqual(2);
    const up = Array.from({ length: 60 }, () => request(true));
    expect(up.filter((id) => id === "a/m").length).toBeGreaterThan(30);
  });
});

describe("lowest_cost", () => {
  const priced = group(
    "g",
    [
      deployment("a/m", { price: { input: 1, output: 10 } }),
      deployment("b/m", { price: { input: 4, output: 2 } }),
      deployment("c/m"),
    ],
    { strategy: "lowest_cost" },
  );
  const load = loads({ "a/m": {}, "b/m": {}, "c/m": {} });

  it("S3 goes by what this request is expected to cost", () => {
    expect(chosen(priced, load, { inputTokens: 10_000, maxOutputTokens: 10 })).toBe("a/m");
    expect(chosen(priced, load, { inputTokens: 10, maxOutputTokens: 10_000 })).toBe("b/m");
  });

  it("S3 estimates input by its bytes and expects no output of embeddings", () => {
    expect(chosen(priced, load, { bodyBytes: 400_000 })).toBe("a/m");
    expect(chosen(priced, load, { endpoint: "embeddings", bodyBytes: 40 })).toBe("a/m");
  });

  it("S3 one without a price comes last, and takes what is left", () => {
    const all = input(config([priced]), { load });
    expect(brief(decide(all))).not.toBe("c/m");
    const only = group("g", ["c/m"], { strategy: "lowest_cost" });
    expect(chosen(only, load)).toBe("c/m");
  });
});

describe("lowest_usage", () => {
  const limited = group(
    "g",
    [
      deployment("a/m", { limits: { rpm: undefined, tpm: 1_000_000 } }),
      deployment("b/m", { limits: { rpm: undefined, tpm: 100_000 } }),
      deployment("c/m"),
    ],
    { strategy: "lowest_usage" },
  );

  it("S5 compares tokens of this minute with each deployment's own limit", () => {
    const load = loads({ "a/m": { tokens: 40_000 }, "b/m": { tokens: 5_000 }, "c/m": { tokens: 90_000 } });
    expect(chosen(limited, load)).toBe("a/m");
  });

  it("S5 forgets the tokens of an earlier minute", () => {
    const before = { tokens: 500, minute: minuteOf(T0) - 1 };
    const load = loads({ "a/m": { tokens: 400 }, "b/m": { tokens: 90 }, "c/m": before });
    expect(chosen(of("lowest_usage"), load)).toBe("c/m");
  });
});

describe("exploration", () => {
  it.each(["least_busy", "lowest_latency", "lowest_cost"] as const)(
    "S4 under %s every tenth request goes to those with fewer than 20 measured, until they have them",
    (strategy) => {
      const list = group(
        "g",
        [
          deployment("a/m", { weight: 9, price: { input: 1, output: 1 } }),
          deployment("b/m", { price: { input: 9, output: 9 } }),
        ],
        { strategy },
      );
      const at = new Gateway(list);
      at.ledger.apply([{ kind: "place", place: "count|p/g", value: 0 }], T0);
      const ask = (count: number): string[] =>
        Array.from({ length: count }, () => {
          const call = at.begin() as Call;
          const { id } = call.attempt.deployment;
          at.succeed(call, id === "a/m" ? 50 : 500);
          return id;
        });
      ask(30);
      const explored = ask(100).filter((id) => id === "b/m").length;
      expect(explored).toBe(10);
      ask(200);
      expect(ask(100).filter((id) => id === "b/m")).toEqual([]);
    },
  );

  it("R8 the explanation says who was explored, and shows what is held against each", () => {
    const load = loads(
      { "a/m": { inFlight: 2 }, "b/m": { samples: 3, inFlight: 5 }, "c/m": { inFlight: 1 } },
      9,
    );
    const { explanation } = decide(input(config([of("least_busy")]), { load, explain: true }));
    expect(explanation?.groups[0]?.candidates).toMatchObject([
      { deployment: "a/m", verdict: "eligible", rule: undefined, score: 2 },
      {
        deployment: "b/m",
        verdict: "chosen",
        rule: "S4 explored: fewer than 20 measured requests",
        score: 5,
      },
      { deployment: "c/m", verdict: "eligible", rule: undefined, score: 1 },
    ]);
  });

  it("S4 explores with first picks only, never on the way from a failure", () => {
    const at = new Gateway(of("least_busy", { retry: { maxRetries: 0 } }));
    const places = (call: Call | undefined) => call?.decided.effects.filter(({ kind }) => kind === "place");
    const call = at.begin() as Call;
    expect(places(call)).toHaveLength(1);
    expect(places(at.fail(call, "server_error", 5))).toEqual([]);
  });
});

describe("shuffle", () => {
  const share = (list: Group): number => {
    const base = input(config([list]));
    let first = 0;
    for (let seed = 0; seed < 10_000; seed += 1) {
      if (brief(decide({ ...base, seed: Math.imul(seed + 1, 0x9e3779b1) >>> 0 })) === "a/m") first += 0.01;
    }
    return first;
  };

  it.each([
    ["rpm", { rpm: 300, tpm: undefined }, { rpm: 100, tpm: undefined }, 75],
    ["tpm", { rpm: undefined, tpm: 900 }, { rpm: undefined, tpm: 100 }, 90],
    ["nothing that all have", { rpm: 300, tpm: undefined }, { rpm: undefined, tpm: 100 }, 50],
  ] as const)("S5 draws in proportion to %s", (_, left, right, percent) => {
    const list = group("g", [deployment("a/m", { limits: left }), deployment("b/m", { limits: right })], {
      strategy: "shuffle",
    });
    expect(Math.abs(share(list) - percent)).toBeLessThanOrEqual(1.5);
  });
});

describe("order after the first pick", () => {
  it("S2 measured strategies go on by the same measure under failover.order strategy", () => {
    const list = of("least_busy", { failover: { order: "strategy" } });
    const load = loads({ "a/m": { inFlight: 3 }, "b/m": { inFlight: 1 }, "c/m": { inFlight: 2 } });
    const all = run(input(config([list]), { load }), [{ error: "auth" }, { error: "auth" }]);
    expect(all.map(brief)).toEqual(["b/m", "c/m", "a/m"]);
    expect(all[0]?.decision).toMatchObject({ next: "c/m" });
  });
});
