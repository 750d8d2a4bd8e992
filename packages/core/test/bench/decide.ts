// Prints µs per decision. Run: node packages/core/test/bench/decide.ts
import { decide, type DecideInput, type Group } from "../../src/index.ts";
import { after, config, deployment, group, input } from "../builders.ts";

const ROUNDS = 7;
const CALLS = 100_000;

/** Median over rounds, in µs; the seed changes with each call so that no draw is the same. */
function measure(base: DecideInput): number {
  const times: number[] = [];
  let sink = 0;
  for (let round = 0; round < ROUNDS; round += 1) {
    const start = process.hrtime.bigint();
    for (let call = 0; call < CALLS; call += 1) {
      sink += decide({ ...base, seed: call }).effects.length;
    }
    times.push(Number(process.hrtime.bigint() - start) / 1_000 / CALLS);
  }
  if (sink < 0) throw new Error("unreachable");
  times.sort((left, right) => left - right);
  return times[ROUNDS >> 1] ?? Number.NaN;
}

function groupOfSize(name: string, size: number): Group {
  const deployments = Array.from({ length: size }, (_, index) =>
    deployment(`p${index}/m`, { weight: index + 1 }),
  );
  return group(name, deployments);
}

function failedOver(first: DecideInput): DecideInput {
  return after(first, decide(first), { error: "not_implemented", status: 501 });
}

function benchedInput(first: DecideInput): DecideInput {
  const entry = (key: string) => ({
    policy: {
      key,
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
  return { ...first, health: { version: 1, benches: new Map(keys.map((key) => [key, entry(key)])) } };
}

for (const groups of [1, 1_000]) {
  const others = Array.from({ length: groups - 1 }, (_, index) => groupOfSize(`other-${index}`, 4));
  for (const size of [1, 8, 32]) {
    const first = input(config([groupOfSize("g", size), ...others]));
    const rows: [string, DecideInput][] = [
      ["first pick", first],
      ["first pick, 100 benches", benchedInput(first)],
      ["after a failure", failedOver(first)],
      ["explained", { ...first, explain: true }],
    ];
    for (const [name, base] of rows) {
      const us = measure(base).toFixed(3);
      console.log(
        `${String(groups).padStart(5)} groups ${String(size).padStart(3)} candidates  ${name.padEnd(24)} ${us} µs`,
      );
    }
  }
}
