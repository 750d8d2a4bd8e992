// Prints µs per decision. Run: node packages/core/test/bench/decide.ts
import {
  decide,
  type DecideInput,
  type DeploymentLoad,
  type Group,
  grantProbes,
  highestScore,
  LoadLedger,
  minuteOf,
  STRATEGIES,
} from "../../src/index.ts";
import { after, config, deployment, facts, group, input, key, T0, type PolicyOverride } from "../builders.ts";

const ROUNDS = 7;
const CALLS = 50_000;

/** Median over rounds, in µs; the seed changes with each call so that no draw is the same. */
function measure(base: DecideInput): number {
  return median((call) => decide({ ...base, seed: call }).effects.length);
}

function median(run: (call: number) => number): number {
  const times: number[] = [];
  let sink = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) sink += run(call);
    times.push(Number(process.hrtime.bigint() - start) / 1_000 / CALLS);
  }
  if (sink === Number.NEGATIVE_INFINITY) throw new Error("unreachable");
  times.sort((left, right) => left - right);
  return times[ROUNDS >> 1] ?? Number.NaN;
}

function groupOfSize(name: string, size: number, more: PolicyOverride = {}, even = false): Group {
  const deployments = Array.from({ length: size }, (_, index) =>
    deployment(`p${index}/m`, {
      weight: even ? 1 : index + 1,
      price: { input: index, output: index },
      limits: more.strategy === "lowest_usage" ? { rpm: 1_000_000, tpm: 1_000_000 } : undefined,
    }),
  );
  return group(name, deployments, more);
}

function failedOver(first: DecideInput): DecideInput {
  return after(first, decide(first), { error: "not_implemented", status: 501 });
}

function benchedInput(first: DecideInput): DecideInput {
  const entry = (key_: string) => ({
    policy: {
      key: key_,
      scope: "model",
      until: first.now + 9_000,
      since: 0,
      reason: "failures",
      group: "p/x",
    } as const,
    manual: undefined,
    policyClearedAt: 0,
    manualClearedAt: 0,
  });
  const keys = Array.from({ length: 100 }, (_, index) => (index < 4 ? `m:p${index}/m` : `m:q${index}/m`));
  const health = { version: 1, benches: new Map(keys.map((one) => [one, entry(one)])) };
  return { ...first, health: grantProbes(health, ["me"], first.now), router: "me" };
}

function loaded(first: DecideInput, size: number): DecideInput {
  const loads = Array.from({ length: size }, (_, index): [string, DeploymentLoad] => [
    `m:p${index}/m`,
    {
      inFlight: index % 5,
      minute: minuteOf(T0),
      requests: index,
      tokens: index * 100,
      samples: 50,
      firstTokenMs: 100 + index * 7,
      perTokenMs: 20,
      successes: 40,
      failures: index % 3,
      measuredAt: T0 - 500,
      countedAt: T0 - 500,
    },
  ]);
  const places = new Map([["count|p/g", 3]]);
  return { ...first, load: { notReady: new Set(), places, deployments: new Map(loads) } };
}

function print(name: string, us: number): void {
  console.log(`${name.padEnd(60)} ${us.toFixed(3)} µs`);
}

for (const groups of [1, 1_000]) {
  const others = Array.from({ length: groups - 1 }, (_, index) => groupOfSize(`other-${index}`, 4));
  for (const size of [1, 8, 32]) {
    const first = input(config([groupOfSize("g", size), ...others]));
    const probed = groupOfSize("g", size, { bench: { probeShare: 0.05, ramp: [5, 25, 50, 100] } });
    const rows: [string, DecideInput][] = [
      ["first pick", first],
      ["first pick, 100 benches", benchedInput(first)],
      ["first pick, 100 benches, probes and ramps", benchedInput(input(config([probed, ...others])))],
      ["after a failure", failedOver(first)],
      ["explained", { ...first, explain: true }],
    ];
    for (const [name, base] of rows) {
      print(
        `${String(groups).padStart(5)} groups ${String(size).padStart(3)} candidates  ${name}`,
        measure(base),
      );
    }
  }
}

for (const strategy of STRATEGIES) {
  const one = input(config([groupOfSize("g", 32, { strategy })]));
  print(`   32 candidates  ${strategy}, loaded`, measure(loaded(one, 32)));
}
for (const even of [true, false]) {
  const affinity = { by: "session", expression: undefined } as const;
  const sticky = groupOfSize("g", 32, { affinity, failover: { order: "strategy" } }, even);
  const request = { facts: facts({ affinity: { session: 12_345 } }), key: key(["g"]) };
  const weights = even ? "even weights" : "weights";
  print(`   32 candidates  affinity, ${weights}`, measure(input(config([sticky]), { request })));
  print(
    `   32 candidates  rendezvous alone, ${weights}`,
    median((call) => highestScore(sticky.deployments, -1, call)),
  );
}
const ledger = new LoadLedger();
const { effects } = decide(input(config([groupOfSize("g", 32, { strategy: "least_busy" })])));
const [lease, ...rest] = effects;
print(
  "      ledger, effects of one decision",
  median((call) => {
    if (lease?.kind === "lease") ledger.apply([{ ...lease, decision: `d${call}` }, ...rest], T0 + call, "f");
    if (call % 1_000 === 0) ledger.tick(T0 + call * 10);
    return 0;
  }),
);
