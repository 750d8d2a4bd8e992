import type { DescField, DescMessage, JsonValue, MessageShape } from "@bufbuild/protobuf";
import { create, fromJson } from "@bufbuild/protobuf";
import { reflect } from "@bufbuild/protobuf/reflect";
import type { ReflectMessage } from "@bufbuild/protobuf/reflect";
import { DurationSchema, StructSchema } from "@bufbuild/protobuf/wkt";
import { fieldPath, itemPath } from "../fault.ts";
import type { Fault } from "../fault.ts";
import { decodeEnum, decodeScalar, wrongType } from "./decode-value.ts";
import type { Decoded } from "./decode-value.ts";
import { parseDuration } from "./duration.ts";
import { nearest } from "./nearest.ts";
import { holdsSecretReference, referenceForms, wrappedList } from "./schema-forms.ts";

type ListField = DescField & { fieldKind: "list" };

/** A field's name as people write it; anything else in a place for secrets may be the secret. */
const FIELD_NAME = /^[a-z][a-z_]{0,24}$/i;
const MAX_SHOWN = 64;

/** Free data is for expressions, which select at most 32 levels down (F5). */
const MAX_DATA_DEPTH = 64;

/**
 * Builds a message from plain data by the schema's descriptor, in the documented form of config files. Adds every
 * fault with its path to `faults`; what is faulty stays unset, and a faulty list element becomes an empty one so
 * that later places keep their numbers.
 */
export function decodeMessage<Desc extends DescMessage>(
  desc: Desc,
  raw: unknown,
  path: string,
  faults: Fault[],
): MessageShape<Desc> {
  const message = create(desc);
  decodeInto(reflect(desc, message), raw, path, faults);
  return message;
}

function decodeInto(target: ReflectMessage, raw: unknown, path: string, faults: Fault[]): void {
  const { desc } = target;
  if (!isMapping(raw)) {
    faults.push({ path, message: notAMapping(desc, raw) });
    return;
  }
  const seen = new Map<string, string>();
  for (const [name, value] of Object.entries(raw)) {
    const field = desc.fields.find((each) => each.name === name || each.jsonName === name);
    if (field === undefined) {
      faults.push(unknownField(desc, name, path));
      continue;
    }
    // `null` means absent, as in ProtoJSON.
    if (value === null || value === undefined) continue;
    const at = fieldPath(path, field.name);
    const taken = field.oneof?.name ?? field.name;
    const other = seen.get(taken);
    if (other !== undefined) {
      faults.push(givenTwice(field, other, path));
      continue;
    }
    seen.set(taken, field.name);
    decodeField(target, field, value, at, faults);
  }
}

function decodeField(
  target: ReflectMessage,
  field: DescField,
  raw: unknown,
  at: string,
  faults: Fault[],
): void {
  if (field.fieldKind === "list") {
    decodeList(target, field, raw, at, faults);
    return;
  }
  const decoded = decodeSingle(field, raw, at, faults);
  if ("wrong" in decoded) faults.push({ path: at, message: decoded.wrong });
  else target.set(field, decoded.value);
}

/** Reads what stands in a field or, for a list's field, in one of its places. */
function decodeSingle(field: DescField, raw: unknown, at: string, faults: Fault[]): Decoded {
  if (field.fieldKind === "map") return { wrong: "has a type that configs do not use" };
  if (field.enum !== undefined) return decodeEnum(field.enum, raw);
  if (field.message !== undefined) return decodeSub(field.message, raw, at, faults);
  return field.scalar === undefined ? wrongType("a value", raw) : decodeScalar(field.scalar, raw);
}

function decodeSub(desc: DescMessage, raw: unknown, at: string, faults: Fault[]): Decoded {
  if (desc.typeName === DurationSchema.typeName) return decodeDuration(raw);
  if (desc.typeName === StructSchema.typeName) return decodeStruct(raw);
  const message = reflect(desc);
  const list = wrappedList(desc);
  if (list !== undefined && !isMapping(raw)) decodeList(message, list, raw, at, faults);
  else decodeInto(message, raw, at, faults);
  return { value: message };
}

function decodeList(
  target: ReflectMessage,
  field: ListField,
  raw: unknown,
  path: string,
  faults: Fault[],
): void {
  if (!Array.isArray(raw)) {
    faults.push({ path, message: wrongType("a list", raw).wrong });
    return;
  }
  const list = target.get(field);
  for (const [index, item] of raw.entries()) {
    const at = itemPath(path, index);
    const decoded = item === null ? wrongType("a value", item) : decodeSingle(field, item, at, faults);
    if ("wrong" in decoded) faults.push({ path: at, message: decoded.wrong });
    list.add("wrong" in decoded ? emptyItem(field) : decoded.value);
  }
}

function emptyItem(field: ListField): unknown {
  if (field.message !== undefined) return reflect(field.message);
  return field.enum === undefined ? "" : 0;
}

function decodeDuration(raw: unknown): Decoded {
  if (typeof raw !== "string") return wrongType("a time such as 250ms, 8s or 5m", raw);
  const duration = parseDuration(raw);
  if (duration !== undefined) return { value: reflect(DurationSchema, duration) };
  if (raw.startsWith("-")) return { wrong: "must not be negative" };
  return { wrong: "must be a time such as 250ms, 8s, 1.5s, 5m or 1h" };
}

function decodeStruct(raw: unknown): Decoded {
  if (!isMapping(raw)) return wrongType("a mapping", raw);
  if (!isJson(raw, 0))
    return { wrong: "must hold plain data: text, finite numbers, true, false, null, lists, mappings" };
  return { value: reflect(StructSchema, fromJson(StructSchema, raw)) };
}

function isJson(raw: unknown, depth: number): raw is JsonValue {
  if (depth > MAX_DATA_DEPTH) return false;
  if (typeof raw === "number") return Number.isFinite(raw);
  if (typeof raw === "string") return raw.isWellFormed();
  if (Array.isArray(raw)) return raw.every((item) => isJson(item, depth + 1));
  if (!isMapping(raw)) return raw === null || typeof raw === "boolean";
  // "__proto__" cannot be held as an ordinary name everywhere.
  return Object.entries(raw).every(
    ([name, value]) => name !== "__proto__" && name.isWellFormed() && isJson(value, depth + 1),
  );
}

function isMapping(raw: unknown): raw is Record<string, unknown> {
  return typeof raw === "object" && raw !== null && !Array.isArray(raw);
}

function notAMapping(desc: DescMessage, raw: unknown): string {
  if (!holdsSecretReference(desc)) return wrongType("a mapping", raw).wrong;
  return `must say where the secret is read: ${referenceForms(desc)}; a secret itself never stands in a config`;
}

function unknownField(desc: DescMessage, name: string, path: string): Fault {
  if (holdsSecretReference(desc) && !FIELD_NAME.test(name)) {
    return { path, message: `has an unknown field; write ${referenceForms(desc)}` };
  }
  const known = desc.fields.map((field) => field.name);
  const near = nearest(name, known, MAX_SHOWN);
  const hint = near === undefined ? `known are ${known.join(", ")}` : `the nearest known one is "${near}"`;
  const shown = name.length > MAX_SHOWN ? `${name.slice(0, MAX_SHOWN)}…` : name;
  return { path: fieldPath(path, shown), message: `unknown field "${shown}"; ${hint}` };
}

function givenTwice(field: DescField, other: string, path: string): Fault {
  if (other === field.name) return { path: fieldPath(path, field.name), message: "is given twice" };
  const all = field.oneof?.fields.map((each) => each.name) ?? [];
  return {
    path,
    message: `"${other}" and "${field.name}" are both given; only one of ${all.join(", ")} may be`,
  };
}
