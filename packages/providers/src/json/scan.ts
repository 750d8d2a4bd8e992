import type { KeyTable } from "./key-table.ts";
import { BAD, MAX_DEPTH, STRING_STOP, skipSpace, skipString, skipValue } from "./skip.ts";
import { decodeUtf8 } from "./text.ts";

/** Numbers that a scan keeps per key of the table. */
const STRIDE = 3;
const COUNT = 2;

/**
 * Where the values of a table's keys stand: of a key that occurs twice the last one, as a parser has it. Reused from scan to scan, so
 * what is needed later is read out before the next.
 */
export class KeySlots {
  readonly #numbers: Int32Array;

  constructor(table: KeyTable) {
    this.#numbers = new Int32Array(table.size * STRIDE);
  }

  clear(): void {
    // Not fill(): for so few numbers the call costs more than the loop.
    for (let place = 0; place < this.#numbers.length; place++) this.#numbers[place] = 0;
  }

  set(index: number, start: number, end: number): void {
    const place = index * STRIDE;
    this.#numbers[place] = start;
    this.#numbers[place + 1] = end;
    this.#numbers[place + COUNT] = (this.#numbers[place + COUNT] as number) + 1;
  }

  has(index: number): boolean {
    return this.#numbers[index * STRIDE + COUNT] !== 0;
  }

  /** How many times the key occurs. */
  count(index: number): number {
    return this.#numbers[index * STRIDE + COUNT] as number;
  }

  /** First byte of the value; 0 without one, as no value of an object starts there. */
  start(index: number): number {
    return this.#numbers[index * STRIDE] as number;
  }

  /** The byte after the value. */
  end(index: number): number {
    return this.#numbers[index * STRIDE + 1] as number;
  }
}

/**
 * Scans the object that starts at `at` (its `{`), fills `slots` and returns the position after its `}`, or {@link BAD}. Values are
 * skipped and fully validated. The result may lie beyond `limit` when the object does: compare.
 */
export function scanObject(
  bytes: Uint8Array,
  at: number,
  limit: number,
  table: KeyTable,
  slots: KeySlots,
  depth = 1,
): number {
  slots.clear();
  return walkObject(bytes, at, limit, table, depth, slots);
}

interface ValueSink {
  set(index: number, start: number, end: number): void;
}

/** The same for a caller that needs every occurrence of a key: `sink.set` is called for each in turn. */
export function walkObject(
  bytes: Uint8Array,
  at: number,
  limit: number,
  table: KeyTable,
  depth: number,
  sink: ValueSink,
): number {
  if (bytes[at] !== 0x7b || depth > MAX_DEPTH) return BAD;
  let position = skipSpace(bytes, at + 1, limit);
  if (bytes[position] === 0x7d) return position + 1;
  for (;;) {
    if (bytes[position] !== 0x22) return BAD;
    const keyStart = position + 1;
    position = keyStart;
    while (position < limit && STRING_STOP[bytes[position] as number] === 0) position++;
    let index: number;
    if (bytes[position] === 0x22) {
      index = table.find(bytes, keyStart, position);
      position++;
    } else {
      position = skipString(bytes, position, limit);
      if (position === BAD) return BAD;
      index = table.findText(readString(bytes, keyStart - 1, position));
    }
    position = skipSpace(bytes, position, limit);
    if (bytes[position] !== 0x3a) return BAD;
    const start = skipSpace(bytes, position + 1, limit);
    position = skipValue(bytes, start, limit, depth);
    if (position === BAD) return BAD;
    if (index >= 0) sink.set(index, start, position);
    position = skipSpace(bytes, position, limit);
    const byte = bytes[position];
    if (byte === 0x7d) return position + 1;
    if (byte !== 0x2c) return BAD;
    position = skipSpace(bytes, position + 1, limit);
  }
}

/** Where a whole text's JSON value starts: after a byte order mark, which a decoder drops, and white space. */
export function valueStart(bytes: Uint8Array): number {
  const hasMark = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  return skipSpace(bytes, hasMark ? 3 : 0, bytes.length);
}

/** Scans a text that must be one JSON object and nothing else. False when a parser would refuse it, or it is another kind of value. */
export function scanDocument(bytes: Uint8Array, table: KeyTable, slots: KeySlots): boolean {
  const end = scanObject(bytes, valueStart(bytes), bytes.length, table, slots);
  return end !== BAD && skipSpace(bytes, end, bytes.length) === bytes.length;
}

/** The text of the valid string whose quotes are at `start` and `end - 1`. */
export function readString(bytes: Uint8Array, start: number, end: number): string {
  const text = decodeUtf8(bytes, start + 1, end - 1);
  return text.includes("\\") ? (JSON.parse(`"${text}"`) as string) : text;
}

/** The valid value of a range, parsed. */
export function readValue(bytes: Uint8Array, start: number, end: number): unknown {
  return JSON.parse(decodeUtf8(bytes, start, end)) as unknown;
}

/** The elements of the valid array at `start`, as calls with their ranges; stops when `visit` returns false. */
export function walkArray(
  bytes: Uint8Array,
  start: number,
  limit: number,
  visit: (start: number, end: number) => boolean,
): void {
  let position = skipSpace(bytes, start + 1, limit);
  while (bytes[position] !== 0x5d) {
    const end = skipValue(bytes, position, limit, 1);
    if (end === BAD || !visit(position, end)) return;
    position = skipSpace(bytes, end, limit);
    if (bytes[position] === 0x2c) position = skipSpace(bytes, position + 1, limit);
  }
}
