import { decodeUtf8, encodeUtf8 } from "./text.ts";
import { BAD, skipSpace, skipValue } from "./skip.ts";
import { valueStart } from "./scan.ts";

declare const digits: unique symbol;

/** A number that a double would change (19-digit ids, `1.10`), kept as its digits (BH-28). Prints as it was read. */
export interface RawNumber {
  readonly [digits]: true;
}

/** A number as it was written. */
export type JsonNumber = number | RawNumber;

/** An object as parsed, or one to be printed: members that are undefined are not printed. */
export interface JsonObject {
  readonly [key: string]: Json | undefined;
}

/** A JSON value that prints with the same digits that it was read with. */
export type Json = null | boolean | number | string | RawNumber | readonly Json[] | JsonObject;

// In the language since ES2026, before the library files that the compiler is set to.
const host = JSON as unknown as {
  parse(text: string, reviver: (key: string, value: unknown, context: { source?: string }) => unknown): Json;
  rawJSON(text: string): RawNumber;
  isRawJSON(value: unknown): boolean;
};

function keepDigits(_key: string, value: unknown, context: { source?: string }): unknown {
  if (typeof value !== "number" || context.source === undefined) return value;
  return String(value) === context.source ? value : host.rawJSON(context.source);
}

/** Parses a text that must be one JSON value and nothing else; undefined when it is none, or nested beyond all bounds. */
export function parseJson(bytes: Uint8Array, from = 0, to: number = bytes.length): Json | undefined {
  const start = from === 0 ? valueStart(bytes) : skipSpace(bytes, from, to);
  const end = skipValue(bytes, start, to, 0);
  if (end === BAD || end > to || skipSpace(bytes, end, to) !== to) return undefined;
  return host.parse(decodeUtf8(bytes, start, end), keepDigits);
}

/** The same of a string; ill-formed text is no JSON. */
export function parseJsonText(text: string): Json | undefined {
  return parseJson(encodeUtf8(text));
}

/** Prints a value; numbers with the digits that they were read with. */
export function printJson(value: Json): string {
  return JSON.stringify(value);
}

/** Whether the value is an object, and not null, a list or a kept number. */
export function isJsonObject(value: Json | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !host.isRawJSON(value);
}

/** Whether the value is a list. */
export function isJsonList(value: Json | undefined): value is readonly Json[] {
  return Array.isArray(value);
}

/** Whether the value is a number, kept as digits or not. */
export function isJsonNumber(value: Json | undefined): value is JsonNumber {
  return typeof value === "number" || host.isRawJSON(value);
}

/** The value, or an object without members where it is none. */
export function objectOf(value: Json | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

/** The value where it is a text. */
export function textOf(value: Json | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}

/** The number's value as a double. */
export function numberOf(value: JsonNumber): number {
  return typeof value === "number" ? value : Number(JSON.stringify(value));
}
