import type { RoundOrder, RoundReport } from "../wire/generator.ts";
import type { Load } from "../wire/loads.ts";
import type { Variant } from "../variants/variant.ts";
import type { Child } from "./children.ts";
import type { Plan, PlannedCell } from "./plan.ts";
import { usageOf } from "./proc.ts";
import type { CellResult, RoundResult } from "./rows.ts";

/** The two processes at the ends of every variant. */
export interface Ends {
  readonly generator: Child;
  readonly upstream: Child;
}

const WARM_UP_MS = 1_000;
const WARM_UP_CONNECTIONS = 32;
const ANSWER_TIMEOUT_MS = 60_000;

async function sendLoad(
  ends: Ends,
  variant: Variant,
  load: Load,
  connections: number,
  durationMs: number,
): Promise<RoundReport> {
  await ends.upstream.ask({ load: load.name }, ANSWER_TIMEOUT_MS);
  const order: RoundOrder = {
    port: variant.port,
    load: load.name,
    connections,
    durationMs,
    headers: variant.headers,
  };
  const answer = await ends.generator.ask<{ report?: RoundReport; failure?: string }>(
    order,
    ANSWER_TIMEOUT_MS,
  );
  if (answer.report === undefined) throw new Error(answer.failure ?? "no report");
  return answer.report;
}

async function measureRound(ends: Ends, variant: Variant, cell: PlannedCell): Promise<RoundResult> {
  const before = usageOf(variant.pids);
  const report = await sendLoad(ends, variant, cell.traffic, cell.connections, cell.traffic.roundMs);
  const after = usageOf(variant.pids);
  return { report, cpuMs: after.cpuMs - before.cpuMs, rssMb: after.rssMb };
}

/** Runs every load once through a variant, for compilers and pools to settle. Errors count like any other. */
export async function warmUp(
  ends: Ends,
  plan: Plan,
  server: string,
  variant: Variant,
  faults: string[],
): Promise<void> {
  const loads = new Set(
    plan.sets
      .flat()
      .filter((cell) => cell.server === server)
      .map((cell) => cell.traffic),
  );
  for (const load of loads) {
    const report = await sendLoad(ends, variant, load, WARM_UP_CONNECTIONS, WARM_UP_MS);
    noteErrors(report, `${server}, ${load.name}, warm-up`, faults);
  }
}

function noteErrors(report: RoundReport, where: string, faults: string[]): void {
  if (report.errors > 0)
    faults.push(
      `${where}: ${report.errors} errors in ${report.requests} requests, first: ${report.firstError}`,
    );
}

/** All rounds over all cells whose server runs; in each round another variant goes first. */
export async function measureAll(
  ends: Ends,
  plan: Plan,
  running: ReadonlyMap<string, Variant>,
  rounds: number,
  faults: string[],
): Promise<readonly CellResult[]> {
  const cells = plan.sets.map((set) =>
    set.filter((cell) => running.has(cell.server)).map((cell) => ({ cell, rounds: [] as RoundResult[] })),
  );
  for (let round = 0; round < rounds; round += 1) {
    console.log(`round ${round + 1} of ${rounds}`);
    for (const set of cells) {
      const first = set.length === 0 ? 0 : round % set.length;
      for (const { cell, rounds: results } of [...set.slice(first), ...set.slice(0, first)]) {
        const variant = running.get(cell.server);
        if (variant === undefined) continue;
        const where = `${cell.variant}, ${cell.load}, ${cell.connections} connections, round ${round + 1}`;
        try {
          const result = await measureRound(ends, variant, cell);
          results.push(result);
          noteErrors(result.report, where, faults);
        } catch (error) {
          faults.push(`${where}: ${error instanceof Error ? error.message : String(error)}`);
        }
      }
    }
  }
  return cells.flat().map(({ cell, rounds: results }) => {
    const { variant, load, connections } = cell;
    return { variant, load, connections, rounds: results };
  });
}
