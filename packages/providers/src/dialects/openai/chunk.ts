import { KeyTable } from "../../json/key-table.ts";
import { isFilled } from "../../json/filled.ts";
import { KeySlots, scanObject } from "../../json/scan.ts";
import { skipSpace } from "../../json/skip.ts";
import { copyRange, encodeUtf8, rangeEquals } from "../../json/text.ts";

const OPEN_BRACE = 0x7b;

const CHUNK_KEYS = new KeyTable(["object", "choices", "usage", "error", "model", "x_groq"]);
export const OBJECT = 0;
export const CHOICES = 1;
export const USAGE = 2;
export const ERROR = 3;
export const MODEL = 4;
const X_GROQ = 5;

const X_GROQ_KEYS = new KeyTable(["usage"]);
const X_GROQ_USAGE = 0;

const CHOICE_KEYS = new KeyTable(["delta", "finish_reason", "usage"]);
const DELTA = 0;
const FINISH_REASON = 1;
const CHOICE_USAGE = 2;

/** Fields of a delta that carry something the caller can use (E6). `role`, `name` and whatever else says nothing by itself. */
const TOKEN_KEYS = new KeyTable([
  "content",
  "reasoning",
  "reasoning_content",
  "reasoning_details",
  "thinking",
  "thinking_blocks",
  "refusal",
  "tool_calls",
  "function_call",
  "audio",
  "images",
]);

const CHUNK_OBJECT = encodeUtf8('"chat.completion.chunk"');
const ERROR_OBJECT = encodeUtf8('"error"');

const chunkSlots = new KeySlots(CHUNK_KEYS);
const choiceSlots = new KeySlots(CHOICE_KEYS);
const tokenSlots = new KeySlots(TOKEN_KEYS);
const groqSlots = new KeySlots(X_GROQ_KEYS);

/** Top-level values of the chunk scanned last. */
export const chunk: KeySlots = chunkSlots;

/** Scans the data of an event into {@link chunk}. False when it is no JSON object. */
export function scanChunk(bytes: Uint8Array, start: number, end: number): boolean {
  const open = skipSpace(bytes, start, end);
  const close = scanObject(bytes, open, end, CHUNK_KEYS, chunkSlots);
  return close >= 0 && close <= end && skipSpace(bytes, close, end) === end;
}

/** Whether the chunk is an error: `error` says something, or it is an error object itself (vLLM). */
export function isErrorChunk(bytes: Uint8Array): boolean {
  return isFilled(bytes, chunkSlots, ERROR) || objectIs(bytes, ERROR_OBJECT);
}

/** Whether a chunk without `choices` is still one of a chat completion. */
export function isChatChunk(bytes: Uint8Array): boolean {
  return objectIs(bytes, CHUNK_OBJECT) || isObject(bytes, chunkSlots, USAGE);
}

/** A copy of the scanned chunk's usage; Groq tells it in a member of its own where nobody asked for it. */
export function chunkUsage(bytes: Uint8Array): Uint8Array | undefined {
  if (isObject(bytes, chunkSlots, USAGE))
    return copyRange(bytes, chunkSlots.start(USAGE), chunkSlots.end(USAGE));
  if (!isObject(bytes, chunkSlots, X_GROQ)) return undefined;
  scanObject(bytes, chunkSlots.start(X_GROQ), chunkSlots.end(X_GROQ), X_GROQ_KEYS, groqSlots);
  if (!isObject(bytes, groqSlots, X_GROQ_USAGE)) return undefined;
  return copyRange(bytes, groqSlots.start(X_GROQ_USAGE), groqSlots.end(X_GROQ_USAGE));
}

function objectIs(bytes: Uint8Array, wanted: Uint8Array): boolean {
  return (
    chunkSlots.has(OBJECT) && rangeEquals(bytes, chunkSlots.start(OBJECT), chunkSlots.end(OBJECT), wanted)
  );
}

/** Whether a key's value is an object. */
export function isObject(bytes: Uint8Array, slots: KeySlots, key: number): boolean {
  return slots.has(key) && bytes[slots.start(key)] === OPEN_BRACE;
}

/** What the choices of the scanned chunk say. */
export interface ChoicesReading {
  /** Some delta carries a useful token, or some choice its finish reason (E6). */
  useful: boolean;
  finished: boolean;
  /** Usage that a provider put into a choice (Moonshot): its range, 0 without. */
  usageStart: number;
  usageEnd: number;
}

/** Reads the non-empty `choices` array of the scanned chunk into `reading`. */
export function readChoices(bytes: Uint8Array, reading: ChoicesReading): void {
  reading.useful = false;
  reading.finished = false;
  reading.usageStart = 0;
  const limit = chunkSlots.end(CHOICES);
  let position = skipSpace(bytes, chunkSlots.start(CHOICES) + 1, limit);
  while (bytes[position] === OPEN_BRACE) {
    position = skipSpace(bytes, scanObject(bytes, position, limit, CHOICE_KEYS, choiceSlots), limit);
    if (isFilled(bytes, choiceSlots, FINISH_REASON)) {
      reading.useful = true;
      reading.finished = true;
    }
    if (isObject(bytes, choiceSlots, CHOICE_USAGE)) {
      reading.usageStart = choiceSlots.start(CHOICE_USAGE);
      reading.usageEnd = choiceSlots.end(CHOICE_USAGE);
    }
    if (!reading.useful && isObject(bytes, choiceSlots, DELTA)) reading.useful = hasToken(bytes, limit);
    if (bytes[position] !== 0x2c) return;
    position = skipSpace(bytes, position + 1, limit);
  }
}

function hasToken(bytes: Uint8Array, limit: number): boolean {
  scanObject(bytes, choiceSlots.start(DELTA), limit, TOKEN_KEYS, tokenSlots);
  for (let key = 0; key < TOKEN_KEYS.size; key++) {
    if (isFilled(bytes, tokenSlots, key)) return true;
  }
  return false;
}
