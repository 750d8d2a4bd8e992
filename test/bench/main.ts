// `pnpm bench`: Switchyard beside nginx and a peer, in one run on this machine. See README.md.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Child, stopAll } from "./measure/children.ts";
import { chooseCores, type Cores } from "./measure/cores.ts";
import { measureDecision } from "./measure/decision.ts";
import { makePlan, type Plan } from "./measure/plan.ts";
import { canMeasure } from "./measure/proc.ts";
import { type Ends, measureAll, warmUp } from "./measure/rounds.ts";
import { type Row, toRows } from "./measure/rows.ts";
import { type Options, parseOptions } from "./options.ts";
import { goalsTable } from "./report/goals.ts";
import { figure } from "./report/table.ts";
import { measuredTable, ratioTable } from "./report/tables.ts";
import { Skipped, type Surroundings, type Variant } from "./variants/variant.ts";

const START_TIMEOUT_MS = 15_000;
const INTERRUPTED = 130;

let interrupted = false;

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

async function startEnds(cores: Cores): Promise<{ ends: Ends; upstreamPort: number }> {
  const start = (url: string): Child =>
    new Child(process.execPath, [fileURLToPath(url)], { core: cores.load, ipc: true });
  const upstream = start(import.meta.resolve("./wire/upstream-stub.ts"));
  const { port } = await upstream.ask<{ port: number }>(undefined, START_TIMEOUT_MS);
  const generator = start(import.meta.resolve("./wire/generator.ts"));
  await generator.ask(undefined, START_TIMEOUT_MS);
  return { ends: { generator, upstream }, upstreamPort: port };
}

/** Those of the plan's servers that this machine can run. */
async function startServers(
  plan: Plan,
  around: Surroundings,
  running: Map<string, Variant>,
  faults: string[],
): Promise<void> {
  for (const { name, start } of plan.servers) {
    try {
      running.set(name, await start(around));
    } catch (error) {
      if (error instanceof Skipped) console.log(`skipped ${name}: ${error.message}`);
      else faults.push(`${name} did not start: ${messageOf(error)}`);
    }
  }
}

async function measure(
  options: Options,
  cores: Cores,
  folder: string,
  faults: string[],
): Promise<readonly Row[]> {
  const plan = makePlan(options);
  const running = new Map<string, Variant>();
  const { ends, upstreamPort } = await startEnds(cores);
  try {
    await startServers(plan, { cores, upstreamPort, folder }, running, faults);
    for (const [name, variant] of running) {
      await warmUp(ends, plan, name, variant, faults).catch((error: unknown) => {
        faults.push(`${name}, warm-up: ${messageOf(error)}`);
      });
    }
    return toRows(await measureAll(ends, plan, running, options.rounds, faults));
  } finally {
    for (const variant of running.values()) await variant.stop();
    await ends.generator.stop();
    await ends.upstream.stop();
  }
}

function print(options: Options, rows: readonly Row[], decisionUs: number | undefined): void {
  const sections = [
    [`medians of ${options.rounds} rounds; times as added to direct (=: direct's own)`, measuredTable(rows)],
    ["ratios to portkey (P) and nginx (N); closer than 1.3 is a tie", ratioTable(rows)],
    [
      "decision",
      decisionUs === undefined ? "" : `${figure(decisionUs)} µs for a decision over 32 candidates`,
    ],
    ["goals, P = portkey in this run", goalsTable({ rows, decisionUs })],
  ] as const;
  for (const [title, text] of sections) if (text !== "") console.log(`\n${title}\n\n${text}`);
}

async function run(options: Options, folder: string): Promise<number> {
  if (!canMeasure()) {
    console.error("the benchmark reads CPU times from /proc: it runs on Linux only");
    return 1;
  }
  const faults: string[] = [];
  const cores = chooseCores();
  console.log(cores.words);
  const rows = await measure(options, cores, folder, faults);
  if (interrupted) return INTERRUPTED;
  let decisionUs: number | undefined;
  if (options.load === undefined) {
    decisionUs = await measureDecision(cores).catch((error: unknown) => {
      faults.push(`decision: ${messageOf(error)}`);
      return undefined;
    });
  }
  print(options, rows, decisionUs);
  if (options.json !== undefined) writeFileSync(options.json, `${JSON.stringify({ rows }, undefined, 1)}\n`);
  for (const fault of faults) console.error(`FAILED ${fault}`);
  return faults.length === 0 ? 0 : 1;
}

const folder = mkdtempSync(join(tmpdir(), "switchyard-bench-"));
process.on("exit", () => {
  rmSync(folder, { recursive: true, force: true });
});
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    interrupted = true;
    // With its processes gone the run comes to its end, and cleans up, by itself.
    stopAll().catch(() => process.exit(INTERRUPTED));
  });
}
try {
  process.exitCode = await run(parseOptions(process.argv.slice(2)), folder);
} catch (error) {
  if (!interrupted) console.error(messageOf(error));
  process.exitCode = interrupted ? INTERRUPTED : 1;
}
