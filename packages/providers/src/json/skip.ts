import { encodeUtf8, rangeEquals } from "./text.ts";

/**
 * Walks over JSON values in UTF-8 bytes without building anything, and refuses exactly what
 * `JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes))` refuses. It stands before routing, so any difference from a
 * parser would be a way around routing. One deliberate difference: values nested deeper than {@link MAX_DEPTH} are refused.
 *
 * Every function takes the position of the first byte to read and returns the position after what it read, or {@link BAD}. They may
 * read past `limit` while they look at single bytes, never past it in strings or numbers; a caller with a `limit` inside the array
 * compares the result with it once at the end.
 */

/** Deepest nesting of arrays and objects that is accepted; keeps the recursion's stack small whatever a caller sends. */
export const MAX_DEPTH = 512;

/** Returned instead of a position when the bytes are not JSON. */
export const BAD = -1;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** 1 for bytes that end a plain run inside a string: quote, backslash, control characters, anything but ASCII. */
export const STRING_STOP: Uint8Array = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  if (byte < 0x20 || byte === QUOTE || byte === BACKSLASH || byte >= 0x80) STRING_STOP[byte] = 1;
}

const ESCAPES = new Uint8Array(256);
for (const letter of '"\\/bfnrt') ESCAPES[letter.charCodeAt(0)] = 1;

const HEX = new Uint8Array(256);
for (const digit of "0123456789abcdefABCDEF") HEX[digit.charCodeAt(0)] = 1;

/** Skips JSON's four white space characters. */
export function skipSpace(bytes: Uint8Array, at: number, limit: number): number {
  let position = at;
  while (position < limit) {
    const byte = bytes[position] as number;
    if (byte > 0x20 || (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09)) break;
    position++;
  }
  return position;
}

/** Skips a string; `at` is the byte after the opening quote, the result the one after the closing quote. */
export function skipString(bytes: Uint8Array, at: number, limit: number): number {
  let position = at;
  while (position < limit) {
    // Four table look-ups a turn: the run of plain ASCII is where nearly all bytes of a prompt are.
    while (
      position + 4 <= limit &&
      ((STRING_STOP[bytes[position] as number] as number) |
        (STRING_STOP[bytes[position + 1] as number] as number) |
        (STRING_STOP[bytes[position + 2] as number] as number) |
        (STRING_STOP[bytes[position + 3] as number] as number)) ===
        0
    ) {
      position += 4;
    }
    let byte = bytes[position] as number;
    while (STRING_STOP[byte] === 0) {
      position++;
      if (position === limit) return BAD;
      byte = bytes[position] as number;
    }
    if (byte === QUOTE) return position + 1;
    if (byte === BACKSLASH) {
      position = skipEscape(bytes, position, limit);
      if (position === BAD) return BAD;
    } else {
      // Text of other scripts comes in runs too.
      do {
        position = skipMultiByte(bytes, position, limit);
        if (position === BAD) return BAD;
      } while (position < limit && (bytes[position] as number) >= 0x80);
    }
  }
  return BAD;
}

function skipEscape(bytes: Uint8Array, at: number, limit: number): number {
  if (at + 1 >= limit) return BAD;
  const letter = bytes[at + 1] as number;
  if (ESCAPES[letter] === 1) return at + 2;
  if (letter !== 0x75 || at + 6 > limit) return BAD;
  const digits =
    (HEX[bytes[at + 2] as number] as number) &
    (HEX[bytes[at + 3] as number] as number) &
    (HEX[bytes[at + 4] as number] as number) &
    (HEX[bytes[at + 5] as number] as number);
  return digits === 1 ? at + 6 : BAD;
}

/** One well-formed UTF-8 sequence of two to four bytes: no overlong form, no surrogate, nothing above U+10FFFF. */
function skipMultiByte(bytes: Uint8Array, at: number, limit: number): number {
  const lead = bytes[at] as number;
  if (lead < 0xc2 || lead > 0xf4) return BAD;
  const length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (at + length > limit) return BAD;
  const second = bytes[at + 1] as number;
  const lowest = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
  const highest = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
  if (second < lowest || second > highest) return BAD;
  if (length > 2 && ((bytes[at + 2] as number) & 0xc0) !== 0x80) return BAD;
  if (length > 3 && ((bytes[at + 3] as number) & 0xc0) !== 0x80) return BAD;
  return at + length;
}

function skipDigits(bytes: Uint8Array, at: number, limit: number): number {
  let position = at;
  while (position < limit && (bytes[position] as number) >= 0x30 && (bytes[position] as number) <= 0x39)
    position++;
  return position;
}

function skipNumber(bytes: Uint8Array, at: number, limit: number): number {
  let position = bytes[at] === 0x2d ? at + 1 : at;
  const integer = position;
  position = skipDigits(bytes, position, limit);
  if (position === integer || (bytes[integer] === 0x30 && position > integer + 1)) return BAD;
  if (position < limit && bytes[position] === 0x2e) {
    const fraction = position + 1;
    position = skipDigits(bytes, fraction, limit);
    if (position === fraction) return BAD;
  }
  if (position < limit && (bytes[position] === 0x65 || bytes[position] === 0x45)) {
    let exponent = position + 1;
    if (exponent < limit && (bytes[exponent] === 0x2b || bytes[exponent] === 0x2d)) exponent++;
    position = skipDigits(bytes, exponent, limit);
    if (position === exponent) return BAD;
  }
  return position;
}

function skipTrue(bytes: Uint8Array, at: number): number {
  return bytes[at + 1] === 0x72 && bytes[at + 2] === 0x75 && bytes[at + 3] === 0x65 ? at + 4 : BAD;
}

function skipFalse(bytes: Uint8Array, at: number): number {
  const matches =
    bytes[at + 1] === 0x61 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x73 && bytes[at + 4] === 0x65;
  return matches ? at + 5 : BAD;
}

function skipNull(bytes: Uint8Array, at: number): number {
  return bytes[at + 1] === 0x75 && bytes[at + 2] === 0x6c && bytes[at + 3] === 0x6c ? at + 4 : BAD;
}

function skipArray(bytes: Uint8Array, at: number, limit: number, depth: number): number {
  if (depth > MAX_DEPTH) return BAD;
  let position = skipSpace(bytes, at, limit);
  if (bytes[position] === 0x5d) return position + 1;
  for (;;) {
    position = skipValue(bytes, position, limit, depth);
    if (position === BAD) return BAD;
    position = skipSpace(bytes, position, limit);
    const byte = bytes[position];
    if (byte === 0x5d) return position + 1;
    if (byte !== 0x2c) return BAD;
    position = skipSpace(bytes, position + 1, limit);
  }
}

const ENCRYPTED = encodeUtf8('encrypted_content"');
let encryptedSeen = false;

/** Whether a nested object that was skipped since the last question has a key `encrypted_content`; found by the way, since nearly no body has it. */
export function takeEncryptedSeen(): boolean {
  const seen = encryptedSeen;
  encryptedSeen = false;
  return seen;
}

const ID = encodeUtf8('id"');
let idSeen = false;

/** The same of a key `id`, however it is written. */
export function takeIdSeen(): boolean {
  const seen = idSeen;
  idSeen = false;
  return seen;
}

/** Lengths that the keys have which are looked for, quote included: `id` with none, one and both of its letters escaped. */
const NOTED = new Uint8Array(256);
for (const length of [ENCRYPTED.length, ID.length, ID.length + 5, ID.length + 10]) NOTED[length] = 1;

function noteKey(bytes: Uint8Array, start: number, end: number): void {
  if (end - start === ENCRYPTED.length) {
    if (rangeEquals(bytes, start, end, ENCRYPTED)) encryptedSeen = true;
  } else if (rangeEquals(bytes, start, end, ID)) idSeen = true;
  else if (bytes[start] === BACKSLASH || bytes[start + 1] === BACKSLASH) idSeen = true;
}

function skipObject(bytes: Uint8Array, at: number, limit: number, depth: number): number {
  if (depth > MAX_DEPTH) return BAD;
  let position = skipSpace(bytes, at, limit);
  if (bytes[position] === 0x7d) return position + 1;
  for (;;) {
    if (bytes[position] !== QUOTE) return BAD;
    const key = position + 1;
    position = skipString(bytes, key, limit);
    if (position === BAD) return BAD;
    if (NOTED[position - key] === 1) noteKey(bytes, key, position);
    position = skipSpace(bytes, position, limit);
    if (bytes[position] !== 0x3a) return BAD;
    position = skipValue(bytes, skipSpace(bytes, position + 1, limit), limit, depth);
    if (position === BAD) return BAD;
    position = skipSpace(bytes, position, limit);
    const byte = bytes[position];
    if (byte === 0x7d) return position + 1;
    if (byte !== 0x2c) return BAD;
    position = skipSpace(bytes, position + 1, limit);
  }
}

/** Skips one value of any kind; `at` is its first byte, `depth` the number of containers around it. */
export function skipValue(bytes: Uint8Array, at: number, limit: number, depth: number): number {
  if (at >= limit) return BAD;
  const byte = bytes[at] as number;
  if (byte === QUOTE) return skipString(bytes, at + 1, limit);
  if (byte === 0x7b) return skipObject(bytes, at + 1, limit, depth + 1);
  if (byte === 0x5b) return skipArray(bytes, at + 1, limit, depth + 1);
  if (byte === 0x6e) return skipNull(bytes, at);
  if (byte === 0x74) return skipTrue(bytes, at);
  if (byte === 0x66) return skipFalse(bytes, at);
  if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) return skipNumber(bytes, at, limit);
  return BAD;
}
