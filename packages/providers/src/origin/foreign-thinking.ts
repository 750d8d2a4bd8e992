import { GOOGLE_MARK } from "./foreign-signature.ts";
import { KeyTable } from "../json/key-table.ts";
import { KeySlots, scanObject, walkArray } from "../json/scan.ts";
import { type Edit, splice } from "../json/splice.ts";
import { encodeUtf8, rangeEquals } from "../json/text.ts";
import type { ByteRange } from "../request/facts.ts";
import { KeyFinder } from "../request/find-key.ts";
import { withoutLostThinking } from "./lost-thinking.ts";
import { originAt } from "./origin-mark.ts";
import { withoutSignatureMarks } from "./origin-marks.ts";

const MESSAGE_KEYS = new KeyTable(["content"]);
const BLOCK_KEYS = new KeyTable(["type", "signature"]);
const messageSlots = new KeySlots(MESSAGE_KEYS);
const blockSlots = new KeySlots(BLOCK_KEYS);

const SIGNATURES = new KeyFinder("signature");
const THINKING = encodeUtf8('"thinking"');
const GOOGLE = encodeUtf8(GOOGLE_MARK);
const EMPTY_TEXT = encodeUtf8('{"type":"text","text":"…"}');
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const COMMA = 0x2c;
const QUOTE = 0x22;

/** Whose thinking a provider of messages takes back. */
export interface ThinkingReader {
  /** It is Claude, which signs what it thinks and refuses what it did not sign; other models' servers look at no signature. */
  readonly isClaude: boolean;
  /** The account's mark; undefined where there are no marks. */
  readonly own: string | undefined;
}

/**
 * A messages request as one account may see it: without the thinking of other vendors' models, which came to the caller through a
 * translation or from another account, and for which the API would refuse every later turn of the conversation. A body without any comes
 * back as it is (P1).
 */
export function withoutForeignThinking(
  bytes: Uint8Array,
  messages: ByteRange | undefined,
  reader: ThinkingReader,
): Uint8Array {
  if (messages === undefined || bytes[messages.start] !== OPEN_BRACKET || !mayHoldForeign(bytes, messages)) {
    return bytes;
  }
  const edits: Edit[] = [];
  walkArray(bytes, messages.start, messages.end, (start, end) => {
    if (bytes[start] !== OPEN_BRACE) return true;
    scanObject(bytes, start, end, MESSAGE_KEYS, messageSlots);
    const content = messageSlots.has(0)
      ? { start: messageSlots.start(0), end: messageSlots.end(0) }
      : undefined;
    if (content !== undefined && bytes[content.start] === OPEN_BRACKET) {
      removeFrom(bytes, content, reader, edits);
    }
    return true;
  });
  const kept = edits.length === 0 ? bytes : splice(bytes, edits);
  const plain = reader.own === undefined ? kept : withoutSignatureMarks(kept, reader.own);
  return reader.isClaude && edits.length > 0 ? withoutLostThinking(plain) : plain;
}

/** A content that would be left empty, which the API refuses too, gets a text in its place. */
function removeFrom(bytes: Uint8Array, content: ByteRange, reader: ThinkingReader, edits: Edit[]): void {
  const kept: ByteRange[] = [];
  let removed = 0;
  walkArray(bytes, content.start, content.end, (start, end) => {
    if (isForeignThinking(bytes, start, end, reader)) removed++;
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

function isForeignThinking(bytes: Uint8Array, start: number, end: number, reader: ThinkingReader): boolean {
  if (bytes[start] !== OPEN_BRACE) return false;
  scanObject(bytes, start, end, BLOCK_KEYS, blockSlots);
  if (!blockSlots.has(0) || !rangeEquals(bytes, blockSlots.start(0), blockSlots.end(0), THINKING))
    return false;
  if (!blockSlots.has(1) || bytes[blockSlots.start(1)] !== QUOTE) return false;
  const signature = blockSlots.start(1);
  if (isEmpty(bytes, signature)) return reader.isClaude;
  const origin = originAt(bytes, signature);
  return origin === undefined ? isGoogles(bytes, signature) : reader.isClaude || origin !== reader.own;
}

function isEmpty(bytes: Uint8Array, quote: number): boolean {
  return bytes[quote + 1] === QUOTE;
}

function isGoogles(bytes: Uint8Array, quote: number): boolean {
  const end = quote + 1 + GOOGLE.length;
  return end < bytes.length && rangeEquals(bytes, quote + 1, end, GOOGLE);
}

/** Looks for a signature that may be none of Claude's: nearly no body has one, and all pay for the looking. */
function mayHoldForeign(bytes: Uint8Array, { start, end }: ByteRange): boolean {
  for (let at = SIGNATURES.next(bytes, start); at >= 0 && at < end; at = SIGNATURES.next(bytes, at)) {
    if (isEmpty(bytes, at) || isGoogles(bytes, at) || originAt(bytes, at) !== undefined) return true;
  }
  return false;
}
