import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, scanObject, walkArray } from "../../json/scan.ts";
import { rangeEquals } from "../../json/text.ts";
import { CONVERSATION_KEYS } from "../../request/keys.ts";
import { readOpenAiUsage } from "../usage.ts";
import type { TokenUsage } from "../../neutral/usage.ts";

const RESPONSE_KEYS = new KeyTable([
  "id",
  "model",
  "usage",
  "status",
  "output",
  "error",
  "store",
  "conversation",
]);
const ID = 0;
const MODEL = 1;
const USAGE = 2;
const STATUS = 3;
const OUTPUT = 4;
const ERROR = 5;
const STORE = 6;
const CONVERSATION = 7;

const slots = new KeySlots(RESPONSE_KEYS);
const ITEM_KEYS = new KeyTable(["id"]);
const itemSlots = new KeySlots(ITEM_KEYS);
/** Items of one answer that are worth remembering: a later request that refers to one refers to its neighbours too. */
const MOST_ITEMS = 16;
/** Servers that count their items give the same ids again and again, which tell nothing. */
const SHORTEST_ITEM_ID = 16;
const conversationSlots = new KeySlots(CONVERSATION_KEYS);
const FALSE = Uint8Array.from([0x66, 0x61, 0x6c, 0x73, 0x65]);
const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** What a response object says that others than its caller need. */
export interface ResponseReading {
  readonly status: string | undefined;
  readonly hasOutput: boolean;
  readonly failed: boolean;
  readonly model: string | undefined;
  readonly usage: TokenUsage | undefined;
  /** Ids under which its provider keeps it: its own, its conversation's, and its items' (P8). */
  readonly keeps: readonly string[];
}

/** Reads the response object that starts at `start`. Undefined when there is no object. */
export function readResponseObject(
  bytes: Uint8Array,
  start: number,
  limit: number,
): ResponseReading | undefined {
  if (bytes[start] !== OPEN_BRACE || scanObject(bytes, start, limit, RESPONSE_KEYS, slots) < 0)
    return undefined;
  return {
    status: text(bytes, STATUS),
    hasOutput: isFilled(bytes, slots, OUTPUT),
    failed: isFilled(bytes, slots, ERROR),
    model: text(bytes, MODEL),
    usage:
      slots.has(USAGE) && bytes[slots.start(USAGE)] === OPEN_BRACE
        ? readOpenAiUsage(bytes, slots.start(USAGE), slots.end(USAGE))
        : undefined,
    keeps: readKeeps(bytes),
  };
}

function readKeeps(bytes: Uint8Array): readonly string[] {
  if (slots.has(STORE) && rangeEquals(bytes, slots.start(STORE), slots.end(STORE), FALSE)) return [];
  const ids: string[] = [];
  const id = text(bytes, ID);
  if (id !== undefined) ids.push(id);
  if (slots.has(CONVERSATION) && bytes[slots.start(CONVERSATION)] === OPEN_BRACE) {
    const start = slots.start(CONVERSATION);
    scanObject(bytes, start, slots.end(CONVERSATION), CONVERSATION_KEYS, conversationSlots);
    if (conversationSlots.has(0) && bytes[conversationSlots.start(0)] === QUOTE) {
      ids.push(readString(bytes, conversationSlots.start(0), conversationSlots.end(0)));
    }
  }
  if (slots.has(OUTPUT) && bytes[slots.start(OUTPUT)] === OPEN_BRACKET) {
    walkArray(bytes, slots.start(OUTPUT), slots.end(OUTPUT), (start, end) => {
      if (bytes[start] !== OPEN_BRACE) return true;
      scanObject(bytes, start, end, ITEM_KEYS, itemSlots);
      if (itemSlots.has(0) && bytes[itemSlots.start(0)] === QUOTE) {
        const item = readString(bytes, itemSlots.start(0), itemSlots.end(0));
        if (item.length >= SHORTEST_ITEM_ID) ids.push(item);
      }
      return ids.length < MOST_ITEMS;
    });
  }
  return ids;
}

function text(bytes: Uint8Array, key: number): string | undefined {
  if (!slots.has(key) || bytes[slots.start(key)] !== QUOTE) return undefined;
  const value = readString(bytes, slots.start(key), slots.end(key));
  return value === "" ? undefined : value;
}
