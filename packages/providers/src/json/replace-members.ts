import type { KeyTable } from "./key-table.ts";
import { valueStart, walkObject } from "./scan.ts";
import { type Edit, splice } from "./splice.ts";

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;

/**
 * The valid object with every top-level member of these keys taken out, and `member`, if any, put where the first was, else at the start.
 * All else stays byte for byte. Bytes without such a member, where none is to be put in, come back as they are.
 */
export function replaceMembers(bytes: Uint8Array, keys: KeyTable, member?: Uint8Array): Uint8Array {
  const open = valueStart(bytes);
  const found: { readonly start: number; readonly end: number }[] = [];
  const sink = {
    set(_index: number, start: number, end: number): void {
      found.push({ start: keyStart(bytes, start), end });
    },
  };
  walkObject(bytes, open, bytes.length, keys, 1, sink);
  const edits: Edit[] = [];
  let isPut = member === undefined;
  for (const { start, end } of found) {
    if (!isPut && member !== undefined) edits.push({ start, end, replacement: member });
    else edits.push(removal(bytes, start, end, edits.at(-1)?.end ?? 0));
    isPut = true;
  }
  if (!isPut && member !== undefined) {
    const isEmpty = nextByte(bytes, open + 1) === 0x7d;
    edits.push({ start: open + 1, end: open + 1, replacement: isEmpty ? member : withComma(member) });
  }
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** The edit that takes one member out of its object, by where its value stands. No other member of the object is taken out with it. */
export function memberRemoval(bytes: Uint8Array, start: number, end: number): Edit {
  return removal(bytes, keyStart(bytes, start), end, 0);
}

/** With the comma before it, or where it comes first or that one is gone, the one after it. */
function removal(bytes: Uint8Array, start: number, end: number, from: number): Edit {
  const none = new Uint8Array(0);
  let before = start - 1;
  while (before >= from && isSpace(bytes[before] as number)) before--;
  if (before >= from && bytes[before] === COMMA) return { start: before, end, replacement: none };
  let after = end;
  while (isSpace(bytes[after] as number)) after++;
  return { start, end: bytes[after] === COMMA ? after + 1 : end, replacement: none };
}

/** Where the key's opening quote stands, seen from its value: between them are only white space and a colon. */
function keyStart(bytes: Uint8Array, value: number): number {
  let at = value - 1;
  while (bytes[at] !== QUOTE) at--;
  at--;
  for (;;) {
    while (bytes[at] !== QUOTE) at--;
    let slashes = 0;
    while (bytes[at - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return at;
    at--;
  }
}

function withComma(member: Uint8Array): Uint8Array {
  const joined = new Uint8Array(member.length + 1);
  joined.set(member);
  joined[member.length] = COMMA;
  return joined;
}

function nextByte(bytes: Uint8Array, from: number): number | undefined {
  let at = from;
  while (isSpace(bytes[at] as number)) at++;
  return bytes[at];
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
