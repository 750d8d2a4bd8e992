import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { findProgram } from "./find-program.ts";

/** Which core runs what; undefined where processes cannot be kept apart. */
export interface Cores {
  /** Generator, upstream and the benchmark itself. */
  readonly load: number | undefined;
  /** Every process of the variant. */
  readonly variant: number | undefined;
  /** In words, for the report. */
  readonly words: string;
}

/** `0-1,4` is 0, 1 and 4. */
export function parseCpuList(list: string): number[] {
  return list
    .trim()
    .split(",")
    .filter((part) => part !== "")
    .flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

/** The first two cores this process may use, if there are two and `taskset` can pin. Pins this process too. */
export function chooseCores(): Cores {
  const none = { load: undefined, variant: undefined };
  const allowed = parseCpuList(
    /^Cpus_allowed_list:\s*(\S+)/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1] ?? "",
  );
  const [load, variant] = allowed;
  if (load === undefined || variant === undefined)
    return {
      ...none,
      words: "one core only: load and variants share it, so latencies include each other's work",
    };
  if (!pinProcess(process.pid, load))
    return { ...none, words: "no taskset: nothing is pinned, so load and variants disturb each other" };
  return {
    load,
    variant,
    words: `load generator and upstream on core ${load}, each variant on core ${variant}`,
  };
}

/** Pins all threads of a running process; false if `taskset` is not there or refuses. */
export function pinProcess(pid: number, core: number | undefined): boolean {
  const taskset = findProgram("taskset");
  if (core === undefined || taskset === undefined) return false;
  try {
    execFileSync(taskset, ["-a", "-c", "-p", String(core), String(pid)], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}
