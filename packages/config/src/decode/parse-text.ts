import { isAlias, isMap, isScalar, isSeq, LineCounter, parseDocument } from "yaml";
import type { Document, YAMLError } from "yaml";
import { fieldPath, itemPath } from "../fault.ts";
import type { Fault } from "../fault.ts";
import { parseJson } from "./parse-json.ts";

/** Largest config text, in UTF-16 units. */
export const MAX_TEXT_LENGTH = 16 * 1024 * 1024;

/** How often aliases may multiply the text: enough for shared policies, far too little for an alias bomb. */
const MAX_ALIAS_COUNT = 1000;

/** A path longer than this is cut: it names a key that someone wrote. */
const MAX_KEY_SHOWN = 64;

/** Plain data from YAML 1.2 (core schema) or JSON. `data` is undefined when the text cannot be read at all. */
export function parseText(text: string): { data: unknown; faults: Fault[] } {
  if (text.length > MAX_TEXT_LENGTH) {
    return { data: undefined, faults: [{ path: "", message: "the config is larger than 16 MiB" }] };
  }
  const json = parseJson(text);
  if (json !== undefined) return { data: json.data, faults: [] };
  try {
    return parseYaml(text);
  } catch (error) {
    // yaml throws on alias bombs, and runs out of stack on absurd nesting. Its own words may quote the text.
    const message =
      error instanceof ReferenceError
        ? "aliases (`*name`) are used too often, or name no anchor"
        : "the text cannot be read as YAML or JSON";
    return { data: undefined, faults: [{ path: "", message }] };
  }
}

/** As {@link parseText}, by the parser of YAML, which reads all JSON too. */
export function parseYaml(text: string): { data: unknown; faults: Fault[] } {
  const lines = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    // Checked below with the path; the parser's own check takes quadratic time.
    uniqueKeys: false,
    merge: false,
    // `!!timestamp` and the like would make other things than plain data.
    resolveKnownTags: false,
    prettyErrors: false,
    // Prints nothing here; "silent" would also pass over a second document.
    logLevel: "error",
    lineCounter: lines,
  });
  const problems = syntaxFaults([...document.errors, ...document.warnings], lines);
  if (document.errors.length > 0) return { data: undefined, faults: problems };
  const duplicates = duplicateKeys(document);
  return { data: document.toJS({ maxAliasCount: MAX_ALIAS_COUNT }), faults: [...problems, ...duplicates] };
}

/** In the order of the text, without what only follows from an error before it in its line. */
function syntaxFaults(errors: readonly YAMLError[], lines: LineCounter): Fault[] {
  const faults = errors
    .toSorted((one, other) => one.pos[0] - other.pos[0])
    .map((error) => syntaxFault(error, lines));
  const byLine = Map.groupBy(faults, ({ path }) => path.split(":", 1)[0]);
  return [...byLine.values()].flatMap((each) => each.slice(0, 1));
}

/** The parser's message up to its first colon or quotation: what follows repeats the text, which may be a secret. */
function syntaxFault(error: YAMLError, lines: LineCounter): Fault {
  const { line, col } = lines.linePos(error.pos[0]);
  const said = error.message.split(/[:"`\n]/, 1)[0]?.trim() ?? "";
  return { path: `${line}:${col}`, message: `YAML syntax: ${said === "" ? "cannot be read" : said}` };
}

function duplicateKeys(document: Document): Fault[] {
  const faults: Fault[] = [];
  const visit = (node: unknown, path: string): void => {
    if (isSeq(node)) {
      for (const [index, item] of node.items.entries()) visit(item, itemPath(path, index));
      return;
    }
    if (!isMap(node)) return;
    const names = new Set<string>();
    for (const { key, value } of node.items) {
      const name = keyName(key);
      const at = fieldPath(path, name.slice(0, MAX_KEY_SHOWN));
      if (names.has(name)) faults.push({ path: at, message: "is given twice in the same mapping" });
      names.add(name);
      visit(value, at);
    }
  };
  visit(document.contents, "");
  return faults;
}

function keyName(key: unknown): string {
  if (isScalar(key)) return String(key.value);
  return isAlias(key) ? `*${key.source}` : "?";
}
