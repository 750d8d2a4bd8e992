import type { Row } from "../measure/rows.ts";
import { figure, ratio, table } from "./table.ts";

/** The three columns of the goals: what must hold now, what is aimed at, what would astonish. */
export type Limits = readonly [now: number, goal: number, moonshot: number];

/** What a goal is judged by, besides the rows. */
export interface Measured {
  readonly rows: readonly Row[];
  readonly decisionUs: number | undefined;
}

interface Goal {
  readonly name: string;
  readonly unit: "P" | "µs" | "×";
  readonly atLeast?: true;
  readonly limits: Readonly<Partial<Record<string, Limits>>>;
  readonly value: (measured: Measured, variant: string) => number | undefined;
}

type Metric = (row: Row) => number | null;

function find(rows: readonly Row[], variant: string, load: string, connections: number): Row | undefined {
  return rows.find((row) => row.variant === variant && row.load === load && row.connections === connections);
}

/** As a multiple of portkey's in the same run. */
function toPortkey(load: string, connections: number, metric: Metric): Goal["value"] {
  return ({ rows }, variant) => {
    const own = find(rows, variant, load, connections);
    const peer = find(rows, "portkey", load, connections);
    return own && peer && ratio(metric(own), metric(peer));
  };
}

/**
 * Requests for each second of the variant's core. Where the load's core is the limit, the variant's is partly idle:
 * requests a second alone would then flatter the slower.
 */
const perCore: Metric = (row) =>
  row.rps === null || row.core_share === null ? null : row.rps / Math.min(1, row.core_share);

function largestMemory(rows: readonly Row[], variant: string): number | undefined {
  const sizes = rows
    .filter((row) => row.variant === variant && row.connections === 32 && !row.load.startsWith("groups"))
    .map((row) => row.rss_mb ?? 0);
  return sizes.length === 0 ? undefined : Math.max(...sizes);
}

// Two runs of the same thing differ by this much on a quiet machine: "flat" can mean no less.
const FLAT = 1.05;

const GOALS: readonly Goal[] = [
  {
    name: "CPU per request, 1 KB",
    unit: "P",
    limits: { "one-process": [0.2, 0.12, 0.03], "four-processes": [0.5, 0.33, 0.2] },
    value: toPortkey("chat-1k", 32, (row) => row.cpu_us),
  },
  {
    name: "throughput, 1 KB, per core",
    unit: "P",
    atLeast: true,
    limits: { "one-process": [5, 8, 35], "four-processes": [2, 3, 5] },
    value: toPortkey("chat-1k", 32, perCore),
  },
  {
    name: "added p50 at 1 connection",
    unit: "P",
    limits: { "one-process": [0.2, 0.12, 0.04], "four-processes": [0.55, 0.4, 0.3] },
    value: toPortkey("chat-1k", 1, (row) => row.p50_us),
  },
  {
    name: "added p99 at 32 connections",
    unit: "P",
    limits: { "one-process": [0.33, 0.25, 0.05], "four-processes": [0.6, 0.4, 0.3] },
    value: toPortkey("chat-1k", 32, (row) => row.p99_us),
  },
  {
    name: "fast streams a second, per core",
    unit: "P",
    atLeast: true,
    limits: { "one-process": [4, 6, 8], "four-processes": [2, 3, 4.5] },
    value: toPortkey("stream-100", 32, perCore),
  },
  {
    name: "added time to first token, paced",
    unit: "P",
    limits: { "one-process": [0.1, 0.05, 0.01], "four-processes": [0.15, 0.1, 0.08] },
    value: toPortkey("stream-100-paced", 1, (row) => row.ttft_us),
  },
  {
    name: "throughput, 200 KB prompt, per core",
    unit: "P",
    atLeast: true,
    limits: { "one-process": [3, 5, 20], "four-processes": [1.5, 2.5, 8] },
    value: toPortkey("prompt-200k", 32, perCore),
  },
  {
    name: "one decision, 32 candidates",
    unit: "µs",
    limits: { "one-process": [20, 5, 1] },
    value: ({ decisionUs }) => decisionUs,
  },
  {
    name: "memory under 32 connections",
    unit: "P",
    limits: { "one-process": [1, 0.8, 0.6], "four-processes": [2, 1.5, 1.2] },
    value: ({ rows }, variant) => ratio(largestMemory(rows, variant), largestMemory(rows, "portkey")),
  },
  {
    name: "cost from 1 to 1,000 groups",
    unit: "×",
    limits: { "one-process": [1.2, FLAT, FLAT] },
    value: ({ rows }, variant) =>
      ratio(find(rows, variant, "groups-1000", 32)?.cpu_us, find(rows, variant, "groups-1", 32)?.cpu_us),
  },
];

/** Every goal that was measured: its limits, the value, and the verdict for each limit. */
export function goalsTable(measured: Measured): string {
  const lines: string[][] = [];
  for (const goal of GOALS) {
    for (const [variant, limits] of Object.entries(goal.limits)) {
      const value = limits === undefined ? undefined : goal.value(measured, variant);
      if (limits === undefined || value === undefined) continue;
      const met = (limit: number): boolean => (goal.atLeast === true ? value >= limit : value <= limit);
      const judged = limits.map(
        (limit) =>
          `${goal.atLeast === true ? "≥" : "≤"} ${limit} ${goal.unit} ${met(limit) ? "met" : "missed"}`,
      );
      lines.push([goal.name, variant, `${figure(value)} ${goal.unit}`, ...judged]);
    }
  }
  return lines.length === 0
    ? ""
    : table(["goal", "variant", "measured", "now must", "goal", "moonshot"], lines);
}
