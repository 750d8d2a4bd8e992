import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { failure } from "@switchyard/rpc";
import type { ConnectError } from "@switchyard/rpc";
import { decodeText } from "../bytes.ts";

/** The JSON object that the bytes hold, or undefined. */
export function parseObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    return objectOf(JSON.parse(decodeText(bytes)) as JsonValue);
  } catch {
    return undefined;
  }
}

export function objectOf(value: JsonValue | undefined): JsonObject | undefined {
  return typeof value === "object" && value !== null && !Array.isArray(value) ? value : undefined;
}

/** The objects of a list; what is none is left out. */
export function objectsOf(value: JsonValue | undefined): JsonObject[] {
  if (!Array.isArray(value)) return [];
  return value.map(objectOf).filter((one) => one !== undefined);
}

export function textOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** A number that fits `uint32`, or undefined. */
export function countOf(value: JsonValue | undefined): number | undefined {
  return typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= 0xffff_ffff
    ? value
    : undefined;
}

/** The members that have a value: what is absent is not sent, and `exactOptionalPropertyTypes` wants it left out. */
export function present<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>;
  };
}

/** All members but those, as a Struct can hold them: a number too large for JSON reads as infinite, and is none. */
export function without(object: JsonObject, names: ReadonlySet<string>): JsonObject | undefined {
  const rest = Object.entries(object).filter(([name, value]) => !names.has(name) && value !== null);
  if (rest.length === 0) return undefined;
  return JSON.parse(JSON.stringify(Object.fromEntries(rest))) as JsonObject;
}

/** An answer that cannot be told in types. */
export function unreadable(what: string): ConnectError {
  return failure("upstream_invalid_response", `the answer can't be told in types: ${what}`, { status: 502 });
}

/** The members that say something; undefined where none does. */
export function filled(object: JsonObject | undefined): JsonObject | undefined {
  const said = Object.entries(object ?? {}).filter(([, value]) => {
    if (typeof value === "object" && value !== null) return Object.keys(value).length > 0;
    return value !== "" && value !== null;
  });
  return said.length === 0 ? undefined : Object.fromEntries(said);
}
