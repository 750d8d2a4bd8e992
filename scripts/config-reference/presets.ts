import type { JsonValue } from "@bufbuild/protobuf";
import { choices, encodeMessage, presetPolicy } from "@switchyard/config";
import { FamilySchema } from "@switchyard/proto/config/v1/family";
import { ErrorClassSchema, PolicySchema, Preset, PresetSchema } from "@switchyard/proto/config/v1/policy";

/** In the order of the schema. */
const PRESETS = [Preset.GROUP_FAILOVER, Preset.WEIGHTED_PRIMARY, Preset.COOLDOWN_POOL, Preset.STICKY_LIST];

/** Longer lists stand below the table. */
const LONGEST_IN_CELL = 2;
/** Lists are sets: they are shown in the order of the schema. */
const ORDER = [...choices(FamilySchema), ...choices(ErrorClassSchema)];

/** A table of what each preset sets, field by field. */
export function presetTable(): string[] {
  const names = choices(PresetSchema);
  const columns = PRESETS.map(
    (preset) => new Map(leaves(encodeMessage(PolicySchema, presetPolicy(preset)), "")),
  );
  // The last one has every field.
  const paths = new Set(columns.toReversed().flatMap((column) => [...column.keys()]));
  paths.delete("preset");
  const letters = new Map<string, string>();
  const cell = (value: string | string[] | undefined): string => {
    if (value === undefined) return "";
    if (typeof value === "string") return `\`${value}\``;
    if (value.length <= LONGEST_IN_CELL) return `\`[${value.join(", ")}]\``;
    const text = value.map((each) => `\`${each}\``).join(", ");
    if (!letters.has(text)) letters.set(text, String.fromCodePoint(65 + letters.size));
    return `list ${letters.get(text)}`;
  };
  const rows = [...paths].map((path) => [`\`${path}\``, ...columns.map((column) => cell(column.get(path)))]);
  return [
    ...tableOf(["field", ...names.map((name) => `\`${name}\``)], rows),
    "",
    ...[...letters].map(([text, letter]) => `- List ${letter}: ${text}`),
  ];
}

/** What is not a message, by its path. */
function leaves(value: JsonValue | undefined, path: string): [string, string | string[]][] {
  if (Array.isArray(value)) {
    const items = value.filter((each) => typeof each === "string");
    return [[path, items.toSorted((a, b) => ORDER.indexOf(a) - ORDER.indexOf(b))]];
  }
  if (typeof value === "object" && value !== null) {
    return Object.entries(value).flatMap(([name, each]) =>
      leaves(each, path === "" ? name : `${path}.${name}`),
    );
  }
  return [[path, String(value)]];
}

/** Lines of a Markdown table. */
export function tableOf(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)];
}
