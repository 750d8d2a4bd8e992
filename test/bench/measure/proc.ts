import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

const NUMBER = /^\d+$/;

interface ProcessStat {
  readonly parent: number;
  readonly ticks: number;
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // It ended between the listing and the reading.
    return undefined;
  }
}

function readStat(pid: number): ProcessStat | undefined {
  const text = readText(`/proc/${pid}/stat`);
  if (text === undefined) return undefined;
  // The command's name may hold blanks and brackets: fields count from behind its last bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
}

/** What the processes of a variant have used: CPU since their start, memory now. */
export interface Usage {
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** False where there is no /proc with process times: nothing to measure with. */
export function canMeasure(): boolean {
  return readStat(process.pid) !== undefined;
}

let msPerTick: number | undefined;

function tickMs(): number {
  msPerTick ??= 1_000 / Number(execFileSync("getconf", ["CLK_TCK"], { encoding: "utf8" }));
  return msPerTick;
}

/** Sums over the given processes and all their descendants (nginx's worker, a cluster's workers). */
export function usageOf(roots: readonly number[]): Usage {
  const stats = new Map<number, ProcessStat>();
  for (const name of readdirSync("/proc")) {
    if (!NUMBER.test(name)) continue;
    const stat = readStat(Number(name));
    if (stat !== undefined) stats.set(Number(name), stat);
  }
  const wanted = new Set(roots);
  let grown = true;
  while (grown) {
    grown = false;
    for (const [pid, { parent }] of stats) {
      if (!wanted.has(parent) || wanted.has(pid)) continue;
      wanted.add(pid);
      grown = true;
    }
  }
  let ticks = 0;
  let rssKb = 0;
  for (const pid of wanted) {
    ticks += stats.get(pid)?.ticks ?? 0;
    rssKb += Number(/^VmRSS:\s+(\d+)/m.exec(readText(`/proc/${pid}/status`) ?? "")?.[1] ?? 0);
  }
  return { cpuMs: ticks * tickMs(), rssMb: rssKb / 1_024 };
}
