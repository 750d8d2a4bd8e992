import { KeyTable } from "../json/key-table.ts";
import { KeySlots, readString, scanObject, walkArray } from "../json/scan.ts";
import { skipString, skipValue } from "../json/skip.ts";
import { type Edit, splice } from "../json/splice.ts";

const OPEN_BRACE = 0x7b;
const CLOSE_BRACE = 0x7d;
const OPEN_BRACKET = 0x5b;
const CLOSE_BRACKET = 0x5d;
const QUOTE = 0x22;
const COMMA = Uint8Array.from([0x2c]);
const EMPTY_TEXT = Uint8Array.from([QUOTE, QUOTE]);

const ITEM_KEYS = new KeyTable(["type"]);
const itemSlots = new KeySlots(ITEM_KEYS);

/** An object in a valid JSON text that stands in a list. */
export interface ItemRange {
  readonly start: number;
  readonly end: number;
  /** Start of its list; -1 where the object stands in none, and only the value itself is meant. */
  readonly list: number;
}

/** The object whose own member the value at `at` is. */
export function enclosingItem(bytes: Uint8Array, at: number): ItemRange {
  const open: number[] = [];
  let position = 0;
  while (position < at) {
    const byte = bytes[position];
    if (byte === QUOTE) {
      position = skipString(bytes, position + 1, bytes.length);
      if (position < 0) break;
      continue;
    }
    if (byte === OPEN_BRACE || byte === OPEN_BRACKET) open.push(position);
    else if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) open.pop();
    position++;
  }
  const start = open.at(-1);
  const list = open.at(-2);
  if (start === undefined || list === undefined || bytes[list] !== OPEN_BRACKET) {
    return { start: at, end: skipValue(bytes, at, bytes.length, 0), list: -1 };
  }
  return { start, end: skipValue(bytes, start, bytes.length, 0), list };
}

/** The `type` of an item. */
export function itemType(bytes: Uint8Array, { start, end, list }: ItemRange): string | undefined {
  if (list < 0) return undefined;
  scanObject(bytes, start, end, ITEM_KEYS, itemSlots);
  return itemSlots.has(0) && bytes[itemSlots.start(0)] === QUOTE
    ? readString(bytes, itemSlots.start(0), itemSlots.end(0))
    : undefined;
}

/** The text without these items; all else stays byte for byte but for the commas of their lists and what `more` changes elsewhere. */
export function removeItems(
  bytes: Uint8Array,
  items: readonly ItemRange[],
  more: readonly Edit[] = [],
): Uint8Array {
  if (items.length === 0) return bytes;
  const edits: Edit[] = [...more];
  const outer = items.filter(
    (item) => !items.some((other) => other.start < item.start && item.end < other.end),
  );
  for (const { start, end, list } of outer) if (list < 0) edits.push({ start, end, replacement: EMPTY_TEXT });
  const lists = new Set(outer.flatMap(({ list }) => (list < 0 ? [] : [list])));
  for (const list of lists) {
    const removed = new Set(outer.filter((item) => item.list === list).map(({ start }) => start));
    pushListEdits(bytes, list, removed, edits);
  }
  edits.sort((left, right) => left.start - right.start);
  return splice(bytes, edits);
}

/** Cuts out each removed element with the space around it, and puts one comma between those that stay. */
function pushListEdits(bytes: Uint8Array, list: number, removed: ReadonlySet<number>, edits: Edit[]): void {
  let keptEnd = list + 1;
  let keptAny = false;
  let cut = false;
  let close = list + 1;
  walkArray(bytes, list, bytes.length, (start, end) => {
    close = end;
    if (removed.has(start)) {
      cut = true;
      return true;
    }
    if (cut) edits.push({ start: keptEnd, end: start, replacement: keptAny ? COMMA : COMMA.subarray(0, 0) });
    cut = false;
    keptAny = true;
    keptEnd = end;
    return true;
  });
  if (cut) edits.push({ start: keptEnd, end: close, replacement: COMMA.subarray(0, 0) });
}
