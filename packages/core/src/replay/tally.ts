import type { RecordedCall } from "./story.ts";

/** What became of some requests. */
export interface Side {
  requests: number;
  /** A provider's usable answer. */
  answered: number;
  /** Calls to providers, and those of them that failed. */
  calls: number;
  failed: number;
  /** Price of the answers, USD. */
  costUsd: number;
  /** Answers of deployments that have no price. */
  unpriced: number;
}

/** The log's own and the replayed. */
export interface Compared {
  readonly before: Readonly<Side>;
  readonly after: Readonly<Side>;
}

/** One deployment's part of it. */
export interface RowSide {
  calls: number;
  /** Of the calls of its group, in percent. */
  share: number;
  failed: number;
  answered: number;
  costUsd: number;
}

/** One deployment of a group. */
export interface Row {
  readonly group: string;
  readonly deployment: string;
  /** The candidate config does not have it. */
  readonly gone: boolean;
  readonly before: RowSide;
  readonly after: RowSide;
}

/** Nothing so far. */
export function newSide(): Side {
  return { requests: 0, answered: 0, calls: 0, failed: 0, costUsd: 0, unpriced: 0 };
}

/** Counts one request in; the price is undefined where there was no answer or it has none. */
export function addTo(side: Side, calls: readonly RecordedCall[], costUsd: number | undefined): void {
  side.requests += 1;
  side.calls += calls.length;
  side.failed += calls.filter(({ failure }) => failure !== undefined).length;
  const last = calls.at(-1);
  if (last === undefined || last.failure !== undefined) return;
  side.answered += 1;
  if (costUsd === undefined) side.unpriced += 1;
  else side.costUsd += costUsd;
}

/** Both sides, as they are to be read. */
export function compare({ before, after }: Compared): Compared {
  return { before: rounded(before), after: rounded(after) };
}

/** The rows with each deployment's share of the calls of its group. */
export function withShares(rows: readonly Row[]): Row[] {
  const calls = new Map<string, { before: number; after: number }>();
  for (const { group, before, after } of rows) {
    const sum = calls.get(group) ?? { before: 0, after: 0 };
    calls.set(group, { before: sum.before + before.calls, after: sum.after + after.calls });
  }
  return rows.map((row) => {
    const all = calls.get(row.group) ?? { before: 0, after: 0 };
    return { ...row, before: shared(row.before, all.before), after: shared(row.after, all.after) };
  });
}

function shared(side: RowSide, all: number): RowSide {
  return { ...rounded(side), share: all === 0 ? 0 : (100 * side.calls) / all };
}

/** Sums of fractions to what money has, far below any price. */
function rounded<Priced extends { readonly costUsd: number }>(side: Priced): Priced {
  return { ...side, costUsd: Math.round(side.costUsd * 1e9) / 1e9 };
}
