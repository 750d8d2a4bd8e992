import type { JsonValue } from "@bufbuild/protobuf";
import { encodeMessage, presetPolicy } from "@switchyard/config";
import { PolicySchema, Preset } from "@switchyard/proto/config/v1/policy";

const PRESETS = [
  Preset.GROUP_FAILOVER,
  Preset.WEIGHTED_PRIMARY,
  Preset.COOLDOWN_POOL,
  Preset.STICKY_LIST,
] as const;

/** Longer lists stand below the table. */
const LONGEST_IN_CELL = 2;

/** A table of what each preset sets, field by field. */
export function presetTable(): string[] {
  const columns = PRESETS.map((preset) => encodeMessage(PolicySchema, presetPolicy(preset)));
  const rows = columns.map((column) => new Map(leaves(column, "")));
  const paths = [...new Set(rows.flatMap((row) => [...row.keys()]))].filter((path) => path !== "preset");
  const lists = new Map<string, string>();
  const cell = (value: JsonValue | undefined): string => {
    if (value === undefined) return "";
    if (!Array.isArray(value)) return `\`${String(value)}\``;
    if (value.length <= LONGEST_IN_CELL) return `\`[${value.join(", ")}]\``;
    const text = value.map((each) => `\`${String(each)}\``).join(", ");
    if (!lists.has(text)) lists.set(text, String.fromCharCode(65 + lists.size));
    return `list ${lists.get(text)}`;
  };
  const names = columns.map((column) => `\`${String(column["preset"])}\``);
  const table = paths.map((path) => [`\`${path}\``, ...rows.map((row) => cell(row.get(path)))]);
  return [
    ...tableOf(["field", ...names], table),
    "",
    ...[...lists].map(([text, letter]) => `- List ${letter}: ${text}`),
  ];
}

function leaves(value: JsonValue, path: string): [string, JsonValue][] {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return [[path, value]];
  return Object.entries(value).flatMap(([name, each]) =>
    leaves(each, path === "" ? name : `${path}.${name}`),
  );
}

/** Lines of a Markdown table. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`.replaceAll("|  |", "| |");
  return [line(head), line(head.map(() => "---")), ...rows.map((row) => line(row))];
}
