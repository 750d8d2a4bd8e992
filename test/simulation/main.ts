// Runs simulations: `pnpm simulate`.
import { parseArgs } from "node:util";
import { STRATEGIES } from "@switchyard/core";
import { report } from "./report.ts";

const USAGE = `pnpm simulate [--seeds N] [--seed S] [--strategy NAME]
--seeds and --seed take whole numbers from 1, --strategy one of ${STRATEGIES.join(", ")}`;

const { values } = parseArgs({
  options: {
    help: { type: "boolean" },
    seeds: { type: "string", default: "20" },
    seed: { type: "string" },
    strategy: { type: "string" },
  },
});

if (values.help === true) {
  console.log(USAGE);
  process.exit();
}
const count = Number(values.seeds);
const single = values.seed === undefined ? undefined : Number(values.seed);
const strategies = STRATEGIES.filter((name) => values.strategy === undefined || name === values.strategy);
const isWhole = (value: number): boolean => Number.isSafeInteger(value) && value >= 1;
if (!isWhole(count) || (single !== undefined && !isWhole(single)) || strategies.length === 0) {
  console.error(USAGE);
  process.exit(2);
}

const seeds = single === undefined ? Array.from({ length: count }, (_, index) => index + 1) : [single];
const { lines, faults } = report(seeds, strategies);
for (const line of lines) console.log(line);
for (const fault of faults) console.log(fault);
console.log(`${seeds.length * strategies.length} simulations, ${faults.length} faults`);
process.exitCode = faults.length === 0 ? 0 : 1;
