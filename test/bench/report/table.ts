/** Rows under headings, columns aligned: the first two to the left, the rest to the right. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = headings.map((heading, column) =>
    Math.max(heading.length, ...rows.map((row) => row[column]?.length ?? 0)),
  );
  const line = (cells: readonly string[]): string =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? "";
        return column < 2 ? cell.padEnd(width) : cell.padStart(width);
      })
      .join("  ")
      .trimEnd();
  return [line(headings), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Three significant digits, thousands grouped; a dash for nothing. */
export function figure(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "-";
  if (Math.abs(value) >= 100) return Math.round(value).toLocaleString("en-US");
  return String(Number(value.toPrecision(3)));
}

/** With its sign, for what is added. */
export function signed(value: number | null): string {
  if (value === null) return "-";
  return `${value < 0 ? "−" : "+"} ${figure(Math.abs(value))}`;
}

type Maybe = number | null | undefined;

/** `value` as a multiple of `base`; undefined where that says nothing. What noise made negative is 0. */
export function ratio(value: Maybe, base: Maybe): number | undefined {
  if (value === null || value === undefined || base === null || base === undefined || base <= 0)
    return undefined;
  return Math.max(0, value) / base;
}
