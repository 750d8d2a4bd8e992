import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import type { Config } from "@switchyard/proto/config/v1/config";
import { encodeConfig } from "./decode/encode-config.ts";
import { fieldPath } from "./fault.ts";
import { canonicalJson } from "./snapshot/config-hash.ts";
import { deploymentId } from "./validate/check.ts";

/** Digits of a key's hash that a line shows: enough to tell two apart. */
const HASH_SHOWN = 8;

/**
 * What changed between two configs, one line each: `groups[chat].policy.strategy: weighted -> shuffle`,
 * `groups[chat].deployments[openai/gpt-5]: added`. Elements of lists go by name rather than place.
 */
export function diffConfigs(before: Config, after: Config): string[] {
  const lines: string[] = [];
  diffObjects(encodeConfig(before), encodeConfig(after), "", lines);
  return lines;
}

function diffObjects(before: JsonObject, after: JsonObject, path: string, lines: string[]): void {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])];
  for (const name of names) diffValues(before[name], after[name], fieldPath(path, name), lines);
}

function diffValues(
  before: JsonValue | undefined,
  after: JsonValue | undefined,
  path: string,
  lines: string[],
): void {
  if (before !== undefined && after !== undefined && canonicalJson(before) === canonicalJson(after)) return;
  const [old, now] = [namedElements(before), namedElements(after)];
  if (old !== undefined && now !== undefined) {
    diffElements(old, now, path, lines);
  } else if (isObject(before) && isObject(after)) {
    diffObjects(before, after, path, lines);
  } else {
    lines.push(`${path}: ${show(path, before)} -> ${show(path, after)}`);
  }
}

function diffElements(
  before: ReadonlyMap<string, JsonObject>,
  after: ReadonlyMap<string, JsonObject>,
  path: string,
  lines: string[],
): void {
  for (const [name, value] of before) {
    const other = after.get(name);
    if (other === undefined) lines.push(`${path}[${name}]: removed`);
    else diffValues(value, other, `${path}[${name}]`, lines);
  }
  for (const name of after.keys()) {
    if (!before.has(name)) lines.push(`${path}[${name}]: added`);
  }
  const kept = (names: Iterable<string>, others: ReadonlyMap<string, unknown>): string =>
    [...names].filter((name) => others.has(name)).join(", ");
  const [oldOrder, newOrder] = [kept(before.keys(), after), kept(after.keys(), before)];
  if (oldOrder !== newOrder) lines.push(`${path}: order ${oldOrder} -> ${newOrder}`);
}

/** The elements of a list of named things by name, a list that is not there being an empty one. */
function namedElements(value: JsonValue | undefined): Map<string, JsonObject> | undefined {
  if (value === undefined) return new Map();
  if (!Array.isArray(value)) return undefined;
  const elements = new Map<string, JsonObject>();
  for (const item of value) {
    const name = isObject(item) ? elementName(item) : undefined;
    if (name === undefined || elements.has(name) || !isObject(item)) return undefined;
    elements.set(name, item);
  }
  return elements;
}

/** Names are unique in their project only, so a group's shows the project where it is not the default. */
function elementName(item: JsonObject): string | undefined {
  const text = (name: string): string => (typeof item[name] === "string" ? item[name] : "");
  if (text("path") !== "") return text("path");
  if (text("provider") !== "" && text("model") !== "") {
    return deploymentId({ id: text("id"), provider: text("provider"), model: text("model") });
  }
  if (text("name") === "") return undefined;
  const project = "deployments" in item || "policy" in item ? text("project") : "";
  return project === "" || project === "default" ? text("name") : `${project}/${text("name")}`;
}

function show(path: string, value: JsonValue | undefined): string {
  if (value === undefined) return "(not set)";
  if (typeof value === "string") return path.endsWith(".sha256") ? `${value.slice(0, HASH_SHOWN)}…` : value;
  return canonicalJson(value).replace(/("sha256":"[^"]{8})[^"]*"/g, '$1…"');
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
