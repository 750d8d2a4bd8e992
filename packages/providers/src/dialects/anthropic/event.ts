import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, scanObject } from "../../json/scan.ts";
import { skipSpace } from "../../json/skip.ts";
import { decodeUtf8 } from "../../json/text.ts";

const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;

const EVENT_KEYS = new KeyTable(["type", "delta", "content_block", "message", "usage"]);
export const TYPE = 0;
export const DELTA = 1;
export const CONTENT_BLOCK = 2;
export const MESSAGE = 3;
export const USAGE = 4;

const MESSAGE_KEYS = new KeyTable(["model", "usage"]);
export const MESSAGE_MODEL = 0;
export const MESSAGE_USAGE = 1;

/** What a delta or a block holds for the caller (E6). */
const TOKEN_KEYS = new KeyTable([
  "text",
  "thinking",
  "partial_json",
  "signature",
  "citation",
  "content",
  "stop_reason",
  "type",
]);
const STOP_REASON = 6;
const BLOCK_TYPE = 7;

const eventSlots = new KeySlots(EVENT_KEYS);
const messageSlots = new KeySlots(MESSAGE_KEYS);
const tokenSlots = new KeySlots(TOKEN_KEYS);

/** Top-level values of the event scanned last. */
export const event: KeySlots = eventSlots;
/** Values of its `message`, after {@link scanMessage}. */
export const message: KeySlots = messageSlots;

/** Scans the data of an event into {@link event}; its type, or nothing when it is no JSON object. */
export function scanEvent(bytes: Uint8Array, start: number, end: number): string | undefined {
  const open = skipSpace(bytes, start, end);
  const close = scanObject(bytes, open, end, EVENT_KEYS, eventSlots);
  if (close < 0 || close > end || skipSpace(bytes, close, end) !== end) return undefined;
  return textAt(bytes, eventSlots, TYPE) ?? "";
}

/** Scans `message` of the scanned event. False when it is no object. */
export function scanMessage(bytes: Uint8Array): boolean {
  return isObjectAt(bytes, MESSAGE) && scanInto(bytes, MESSAGE, MESSAGE_KEYS, messageSlots);
}

/** Whether the scanned event's delta holds a token. */
export function hasToken(bytes: Uint8Array): boolean {
  if (!isObjectAt(bytes, DELTA) || !scanInto(bytes, DELTA, TOKEN_KEYS, tokenSlots)) return false;
  for (let key = 0; key < STOP_REASON; key++) if (isFilled(bytes, tokenSlots, key)) return true;
  return false;
}

/** Whether the block that the scanned event starts says something by itself: any but an empty text or thinking. */
export function isUsefulBlock(bytes: Uint8Array): boolean {
  if (!isObjectAt(bytes, CONTENT_BLOCK)) return false;
  scanInto(bytes, CONTENT_BLOCK, TOKEN_KEYS, tokenSlots);
  const type = textAt(bytes, tokenSlots, BLOCK_TYPE);
  if (type !== "text" && type !== "thinking") return true;
  return isFilled(bytes, tokenSlots, 0) || isFilled(bytes, tokenSlots, 1);
}

/** Whether the scanned event tells why the model stopped. */
export function hasStopReason(bytes: Uint8Array): boolean {
  return (
    isObjectAt(bytes, DELTA) &&
    scanInto(bytes, DELTA, TOKEN_KEYS, tokenSlots) &&
    isFilled(bytes, tokenSlots, STOP_REASON)
  );
}

function scanInto(bytes: Uint8Array, key: number, table: KeyTable, slots: KeySlots): boolean {
  return scanObject(bytes, eventSlots.start(key), eventSlots.end(key), table, slots) >= 0;
}

function isObjectAt(bytes: Uint8Array, key: number): boolean {
  return eventSlots.has(key) && bytes[eventSlots.start(key)] === OPEN_BRACE;
}

function textAt(bytes: Uint8Array, slots: KeySlots, key: number): string | undefined {
  const isText = slots.has(key) && bytes[slots.start(key)] === QUOTE;
  return isText ? decodeUtf8(bytes, slots.start(key) + 1, slots.end(key) - 1) : undefined;
}
