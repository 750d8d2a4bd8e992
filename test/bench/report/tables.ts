import type { Row } from "../measure/rows.ts";
import { figure, ratio, signed, table } from "./table.ts";

// A paced stream lasts as long as the upstream takes: only its first token, CPU and memory are the variant's.
const SET_BY_PACE = new Set(["p50", "p99", "req/s"]);

function isPaced(row: Row): boolean {
  return row.load === "stream-100-paced";
}

function sameCell(rows: readonly Row[], row: Row, variant: string): Row | undefined {
  return rows.find(
    (other) => other.variant === variant && other.load === row.load && other.connections === row.connections,
  );
}

/** Every row as measured; times as added to `direct`, whose own are absolute here. */
export function measuredTable(rows: readonly Row[]): string {
  const headings = [
    "load",
    "variant",
    "conn",
    "cpu µs",
    "core %",
    "p50 µs",
    "p99 µs",
    "ttft µs",
    "req/s",
    "rss MB",
  ];
  return table(
    headings,
    rows.map((row) => {
      const direct = row.variant === "direct";
      const time = (own: number | null, added: number | null): string =>
        direct ? `= ${figure(own)}` : signed(added);
      return [
        row.load,
        row.variant,
        String(row.connections),
        direct ? "-" : figure(row.cpu_us),
        direct ? "-" : figure(row.core_share === null ? null : row.core_share * 100),
        time(row.p50_abs_us, row.p50_us),
        time(row.p99_abs_us, row.p99_us),
        row.ttft_abs_us === null ? "-" : time(row.ttft_abs_us, row.ttft_us),
        figure(row.rps),
        direct ? "-" : figure(row.rss_mb),
      ];
    }),
  );
}

/** Every variant against portkey (P) and nginx (N) under the same load; empty when neither ran. */
export function ratioTable(rows: readonly Row[]): string {
  const metrics = [
    ["cpu", (row: Row) => row.cpu_us],
    ["p50", (row: Row) => row.p50_us],
    ["p99", (row: Row) => row.p99_us],
    ["ttft", (row: Row) => row.ttft_us],
    ["req/s", (row: Row) => row.rps],
    ["rss", (row: Row) => row.rss_mb],
  ] as const;
  const lines: string[][] = [];
  for (const row of rows) {
    if (row.variant === "direct") continue;
    const [portkey, nginx] = [sameCell(rows, row, "portkey"), sameCell(rows, row, "nginx")];
    if (portkey === undefined && nginx === undefined) continue;
    const cells = metrics.flatMap(([name, read]) =>
      [portkey, nginx].map((peer) =>
        peer === undefined || (isPaced(row) && SET_BY_PACE.has(name))
          ? undefined
          : ratio(read(row), read(peer)),
      ),
    );
    lines.push([row.load, row.variant, String(row.connections), ...cells.map(figure)]);
  }
  if (lines.length === 0) return "";
  return table(["load", "variant", "conn", ...metrics.flatMap(([name]) => [`${name} /P`, `/N`])], lines);
}
