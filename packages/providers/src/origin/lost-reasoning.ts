import { isFilled } from "../json/filled.ts";
import { KeyTable } from "../json/key-table.ts";
import { KeySlots, readString, scanObject, walkArray } from "../json/scan.ts";
import { encodeUtf8, rangeEquals } from "../json/text.ts";
import type { ByteRange } from "../request/facts.ts";
import { KeyFinder } from "../request/find-key.ts";
import { orphanedIds } from "./orphaned-ids.ts";
import { type ItemRange, removeItems } from "./remove-items.ts";

const REASONING = "reasoning";
const FINDER = new KeyFinder(REASONING);
const TYPE_VALUE = encodeUtf8(`"${REASONING}"`);
const ITEM_KEYS = new KeyTable(["type", "id", "encrypted_content", "content"]);
const TYPE = 0;
const ID = 1;
const ENCRYPTED = 2;
const CONTENT = 3;
const slots = new KeySlots(ITEM_KEYS);
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;
/** Ids of items that translations make: the request's, and a number. No provider keeps them. */
const OWN_ID = /^rs_\w*_\d+$/u;

/**
 * A responses request without the reasoning that its server would look for by its id and not find ("Item with id 'rs_…' not found"), which
 * ends every later turn of the conversation: what a translation told, and, where `strangers` may have kept it, all that holds nothing but an
 * id and a summary. What follows such reasoning loses its id (BH-31). A body without any comes back as it is (P1).
 */
export function withoutLostReasoning(
  bytes: Uint8Array,
  input: ByteRange | undefined,
  strangers: boolean,
): Uint8Array {
  if (input === undefined || bytes[input.start] !== OPEN_BRACKET) return bytes;
  if (!FINDER.isIn(bytes, input.start, input.end)) return bytes;
  const lost: ItemRange[] = [];
  walkArray(bytes, input.start, input.end, (start, end) => {
    if (isLost(bytes, start, end, strangers)) lost.push({ start, end, list: input.start });
    return true;
  });
  return removeItems(bytes, lost, orphanedIds(bytes, lost));
}

function isLost(bytes: Uint8Array, start: number, end: number, strangers: boolean): boolean {
  if (bytes[start] !== OPEN_BRACE) return false;
  scanObject(bytes, start, end, ITEM_KEYS, slots);
  if (!slots.has(TYPE) || !rangeEquals(bytes, slots.start(TYPE), slots.end(TYPE), TYPE_VALUE)) return false;
  if (isFilled(bytes, slots, ENCRYPTED) || !slots.has(ID) || bytes[slots.start(ID)] !== QUOTE) return false;
  if (OWN_ID.test(readString(bytes, slots.start(ID), slots.end(ID)))) return true;
  return strangers && !isFilled(bytes, slots, CONTENT);
}
