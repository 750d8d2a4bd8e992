import { KeyTable } from "../json/key-table.ts";
import { KeySlots, readString, scanObject, walkArray } from "../json/scan.ts";

const REFERENCE = "item_reference";
const ITEM_KEYS = new KeyTable(["type", "id", "role"]);
const TYPE = 0;
const ID = 1;
const ROLE = 2;
const slots = new KeySlots(ITEM_KEYS);
/** More than a conversation has. */
const MOST = 10_000;
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;
const LETTER_N = 0x6e;

/**
 * Ids of stored items that a list of input items names instead of holding them (P8), the last one first. To be asked for lists with a key
 * `id` in them: all others have none.
 */
export function readItemReferences(bytes: Uint8Array, start: number, end: number): readonly string[] {
  if (bytes[start] !== OPEN_BRACKET) return [];
  const ids: string[] = [];
  walkArray(bytes, start, end, (at, itemEnd) => {
    if (bytes[at] !== OPEN_BRACE) return true;
    scanObject(bytes, at, itemEnd, ITEM_KEYS, slots);
    if (slots.has(ID) && bytes[slots.start(ID)] === QUOTE && isReference(bytes)) {
      ids.push(readString(bytes, slots.start(ID), slots.end(ID)));
    }
    return true;
  });
  return ids.slice(-MOST).toReversed();
}

/** An item without a type that is no message is one, too. */
function isReference(bytes: Uint8Array): boolean {
  if (!slots.has(TYPE) || bytes[slots.start(TYPE)] === LETTER_N) return !slots.has(ROLE);
  if (bytes[slots.start(TYPE)] !== QUOTE) return false;
  return readString(bytes, slots.start(TYPE), slots.end(TYPE)) === REFERENCE;
}
