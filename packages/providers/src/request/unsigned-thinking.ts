import { GOOGLE_MARK } from "../dialects/anthropic/foreign-signature.ts";
import { KeyTable } from "../json/key-table.ts";
import { KeySlots, scanObject, walkArray } from "../json/scan.ts";
import { skipSpace } from "../json/skip.ts";
import { type Edit, splice } from "../json/splice.ts";
import { encodeUtf8, rangeEquals } from "../json/text.ts";
import type { ByteRange } from "./facts.ts";

const MESSAGE_KEYS = new KeyTable(["content"]);
const BLOCK_KEYS = new KeyTable(["type", "signature"]);
const messageSlots = new KeySlots(MESSAGE_KEYS);
const blockSlots = new KeySlots(BLOCK_KEYS);

const SIGNATURE = encodeUtf8('"signature"');
const THINKING = encodeUtf8('"thinking"');
const GOOGLE = encodeUtf8(GOOGLE_MARK);
const EMPTY_TEXT = encodeUtf8('{"type":"text","text":"…"}');
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const QUOTE = 0x22;
const COLON = 0x3a;

/**
 * Takes thinking without a signature of Anthropic's out of the history of a messages request. Another vendor's model thought it, through
 * a translation, and Anthropic refuses every later turn of a conversation that holds it. A body without any comes back as it is (P1).
 */
export function withoutUnsignedThinking(bytes: Uint8Array, messages: ByteRange | undefined): Uint8Array {
  if (messages === undefined || bytes[messages.start] !== OPEN_BRACKET || !mayHoldUnsigned(bytes, messages)) {
    return bytes;
  }
  const edits: Edit[] = [];
  walkArray(bytes, messages.start, messages.end, (start, end) => {
    if (bytes[start] !== OPEN_BRACE) return true;
    scanObject(bytes, start, end, MESSAGE_KEYS, messageSlots);
    const content = messageSlots.has(0)
      ? { start: messageSlots.start(0), end: messageSlots.end(0) }
      : undefined;
    if (content !== undefined && bytes[content.start] === OPEN_BRACKET) removeFrom(bytes, content, edits);
    return true;
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** A content that would be left empty, which the API refuses too, gets a text in its place. */
function removeFrom(bytes: Uint8Array, content: ByteRange, edits: Edit[]): void {
  const kept: ByteRange[] = [];
  let removed = 0;
  walkArray(bytes, content.start, content.end, (start, end) => {
    if (isUnsigned(bytes, start, end)) removed++;
    else kept.push({ start, end });
    return true;
  });
  if (removed === 0) return;
  const pieces = kept.length > 0 ? kept.map(({ start, end }) => bytes.subarray(start, end)) : [EMPTY_TEXT];
  const length = pieces.reduce((sum, piece) => sum + piece.length + 1, -1);
  const replacement = new Uint8Array(length);
  let at = 0;
  for (const piece of pieces) {
    if (at > 0) replacement[at++] = COMMA;
    replacement.set(piece, at);
    at += piece.length;
  }
  edits.push({ start: content.start + 1, end: content.end - 1, replacement });
}

function isUnsigned(bytes: Uint8Array, start: number, end: number): boolean {
  if (bytes[start] !== OPEN_BRACE) return false;
  scanObject(bytes, start, end, BLOCK_KEYS, blockSlots);
  if (!blockSlots.has(0) || !rangeEquals(bytes, blockSlots.start(0), blockSlots.end(0), THINKING))
    return false;
  return blockSlots.has(1) && isForeign(bytes, blockSlots.start(1));
}

/** Whether the value that starts here is an empty text, or a signature of Google's. */
function isForeign(bytes: Uint8Array, start: number): boolean {
  if (bytes[start] !== QUOTE) return false;
  const end = start + 1 + GOOGLE.length;
  return bytes[start + 1] === QUOTE || (end < bytes.length && rangeEquals(bytes, start + 1, end, GOOGLE));
}

/** Looks for such a `"signature":"…"` alone, eleven bytes a step: nearly no body has one, and all pay for the looking. */
function mayHoldUnsigned(bytes: Uint8Array, { start, end }: ByteRange): boolean {
  const last = SIGNATURE.length - 1;
  let position = start + last;
  while (position < end) {
    const skip = SKIP[bytes[position] as number] as number;
    if (skip > 0) {
      position += skip;
      continue;
    }
    const from = position - last;
    if (rangeEquals(bytes, from, position + 1, SIGNATURE)) {
      const colon = skipSpace(bytes, position + 1, end);
      const value = bytes[colon] === COLON ? skipSpace(bytes, colon + 1, end) : end;
      if (value < end && isForeign(bytes, value)) return true;
    }
    position++;
  }
  return false;
}

/** How far the end of a search window may move for the byte that it ends on: 0 where it may be the word's last one. */
const SKIP: Uint8Array = new Uint8Array(256).fill(SIGNATURE.length);
for (const [place, byte] of SIGNATURE.entries()) SKIP[byte] = SIGNATURE.length - 1 - place;
