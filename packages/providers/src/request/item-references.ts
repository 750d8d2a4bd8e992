import { KeyTable } from "../json/key-table.ts";
import { KeySlots, readString, scanObject, walkArray } from "../json/scan.ts";
import { encodeUtf8, rangeEquals } from "../json/text.ts";
import { KeyFinder } from "./find-key.ts";

const REFERENCE = "item_reference";
const FINDER = new KeyFinder(REFERENCE);
const TYPE_VALUE = encodeUtf8(`"${REFERENCE}"`);
const ITEM_KEYS = new KeyTable(["type", "id"]);
const TYPE = 0;
const ID = 1;
const slots = new KeySlots(ITEM_KEYS);
/** More than a conversation has. */
const MOST = 10_000;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;

/** Ids of stored items that a list of input items names instead of holding them (P8), the last one first. */
export function readItemReferences(bytes: Uint8Array, start: number, end: number): readonly string[] {
  if (bytes[start] !== OPEN_BRACKET || !FINDER.isIn(bytes, start, end)) return [];
  const ids: string[] = [];
  walkArray(bytes, start, end, (at, itemEnd) => {
    if (bytes[at] !== OPEN_BRACE) return true;
    scanObject(bytes, at, itemEnd, ITEM_KEYS, slots);
    if (!slots.has(TYPE) || !rangeEquals(bytes, slots.start(TYPE), slots.end(TYPE), TYPE_VALUE)) return true;
    if (slots.has(ID) && bytes[slots.start(ID)] === QUOTE) {
      ids.push(readString(bytes, slots.start(ID), slots.end(ID)));
    }
    return true;
  });
  return ids.slice(-MOST).toReversed();
}
