import type { RoundReport } from "../wire/generator.ts";
import { cpuUsPerRequest, median } from "./statistics.ts";

/** What one round of one cell gave. */
export interface RoundResult {
  readonly report: RoundReport;
  /** Of all the variant's processes, during the round. */
  readonly cpuMs: number;
  readonly rssMb: number;
}

/** A variant under a load from so many connections. */
export interface CellName {
  readonly variant: string;
  readonly load: string;
  readonly connections: number;
}

export interface CellResult extends CellName {
  readonly rounds: readonly RoundResult[];
}

/** One line of the JSON file: medians over the rounds. Times are added to `direct`, those with `abs` are as measured; null where there is none. */
export interface Row extends CellName {
  readonly cpu_us: number | null;
  readonly p50_us: number | null;
  readonly p99_us: number | null;
  readonly rps: number | null;
  readonly ttft_us: number | null;
  readonly rss_mb: number | null;
  readonly p50_abs_us: number | null;
  readonly p99_abs_us: number | null;
  readonly ttft_abs_us: number | null;
  /** Share of one core that the variant used; well under 1 at many connections, the load was the limit. */
  readonly core_share: number | null;
  readonly requests: number;
}

type Absolute = Pick<Row, "p50_abs_us" | "p99_abs_us" | "ttft_abs_us">;

function rounded(value: number): number | null {
  return Number.isFinite(value) ? Math.round(value * 100) / 100 : null;
}

function difference(value: number | null, base: number | null | undefined): number | null {
  return value === null || base === null || base === undefined ? null : rounded(value - base);
}

function absolute(rounds: readonly RoundResult[]): Absolute {
  const firstTokens = rounds.flatMap(({ report }) => (report.ttftUs === undefined ? [] : [report.ttftUs]));
  return {
    p50_abs_us: rounded(median(rounds.map(({ report }) => report.p50Us))),
    p99_abs_us: rounded(median(rounds.map(({ report }) => report.p99Us))),
    ttft_abs_us: rounded(median(firstTokens)),
  };
}

/** `base` is the same load through `direct`. */
function rowOf(cell: CellResult, base: Absolute | undefined): Row {
  const { variant, load, connections, rounds } = cell;
  const own = absolute(rounds);
  const cpu = rounds.map(({ cpuMs, report }) => ({ cpuMs, requests: report.requests }));
  return {
    variant,
    load,
    connections,
    cpu_us: rounded(cpuUsPerRequest(cpu)),
    p50_us: difference(own.p50_abs_us, base?.p50_abs_us),
    p99_us: difference(own.p99_abs_us, base?.p99_abs_us),
    rps: rounded(median(rounds.map(({ report }) => report.requests / (report.elapsedMs / 1_000)))),
    ttft_us: difference(own.ttft_abs_us, base?.ttft_abs_us),
    rss_mb: rounded(median(rounds.map((round) => round.rssMb))),
    ...own,
    core_share: rounded(median(rounds.map(({ cpuMs, report }) => cpuMs / report.elapsedMs))),
    requests: rounds.reduce((sum, { report }) => sum + report.requests, 0),
  };
}

/** Rows of all cells that were measured at least once. */
export function toRows(cells: readonly CellResult[]): readonly Row[] {
  const measured = cells.filter((cell) => cell.rounds.length > 0);
  return measured.map((cell) => {
    const base = measured.find(
      (other) =>
        other.variant === "direct" && other.load === cell.load && other.connections === cell.connections,
    );
    return rowOf(cell, base && absolute(base.rounds));
  });
}
