import type { Compared, ReplayReport, RowSide, Side } from "@switchyard/core";

/** A replay's report for people. */
export function replayText(report: ReplayReport): string {
  const { log, config, total, groups, deployments, refusals, moved, ends, changes } = report;
  const lines = [
    `log        ${log.requests} requests, ${log.decisions} decisions, ${timeOf(log.from)} to ${timeOf(log.to)}`,
    `decided on ${log.configs.join(", ")}`,
    `replayed   on ${config.hash}: ${moved} requests (${percent((100 * moved) / log.requests)} %) go another way at first`,
    ...missing(report),
    "",
    ...table(
      ["", "requests", "answered", "calls", "failed", "price, USD"],
      [sideRow("all", total), ...groups.map((each) => sideRow(each.group, each))],
    ),
    "",
    ...table(
      ["", "share, %", "calls", "failed", "answered", "price, USD"],
      deployments.map((row) => [
        `${row.group} ${row.deployment}${row.gone ? " (gone)" : ""}`,
        pair(row, (side: RowSide) => percent(side.share)),
        pair(row, (side: RowSide) => String(side.calls)),
        pair(row, (side: RowSide) => String(side.failed)),
        pair(row, (side: RowSide) => String(side.answered)),
        pair(row, (side: RowSide) => money(side.costUsd)),
      ]),
    ),
    "",
    ...refusals.map(({ code, before, after }) => `refused    ${code}: ${before} -> ${after}`),
    `ends       of ${total.after.calls} calls: ${ends.recorded} as recorded, ${ends.own} the request's own, ` +
      `${ends.drawn} by the failure rate, ${ends.unknown} unknown and taken to go well`,
    `changes    share ${percent(changes.share)} points, price ${changesText(changes.cost)}, ` +
      `without an answer ${percent(changes.failureRate)} %`,
  ];
  return `${lines.join("\n")}\n`;
}

/** A change in percent; null is one from nothing. */
export function changesText(cost: number | null): string {
  if (cost === null) return "from nothing to something";
  return `${cost > 0 ? "+" : ""}${percent(cost)} %`;
}

export function percent(value: number): string {
  return value.toFixed(2);
}

function missing({ log, total }: ReplayReport): string[] {
  const notes: string[] = [];
  if (log.orphans > 0)
    notes.push(`left out   ${log.orphans} decisions whose request did not begin in this log`);
  if (log.dropped > 0) notes.push(`missing    ${log.dropped} lines that were not written`);
  const { before, after } = total;
  if (before.unpriced + after.unpriced > 0) {
    notes.push(`no price   ${before.unpriced} -> ${after.unpriced} answers`);
  }
  return notes;
}

function sideRow(name: string, both: Compared): string[] {
  return [
    name,
    pair(both, (side: Side) => String(side.requests)),
    pair(both, (side: Side) => String(side.answered)),
    pair(both, (side: Side) => String(side.calls)),
    pair(both, (side: Side) => String(side.failed)),
    pair(both, (side: Side) => money(side.costUsd)),
  ];
}

function pair<One>(
  { before, after }: { readonly before: One; readonly after: One },
  show: (side: One) => string,
): string {
  return `${show(before)} -> ${show(after)}`;
}

function money(usd: number): string {
  return usd.toFixed(6);
}

function timeOf(at: number): string {
  return new Date(at).toISOString();
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const all = [head, ...rows];
  const widths = head.map((_, column) => Math.max(...all.map((row) => row[column]?.length ?? 0)));
  return all.map((row) =>
    row
      .map((cell, column) =>
        column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0),
      )
      .join("  ")
      .trimEnd(),
  );
}
