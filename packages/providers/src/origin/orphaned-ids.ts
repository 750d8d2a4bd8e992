import { KeyTable } from "../json/key-table.ts";
import { memberRemoval } from "../json/replace-members.ts";
import { KeySlots, readString, scanObject, walkArray } from "../json/scan.ts";
import type { Edit } from "../json/splice.ts";
import type { ItemRange } from "./remove-items.ts";

const ITEM_KEYS = new KeyTable(["type", "role", "id"]);
const TYPE = 0;
const ROLE = 1;
const ID = 2;
const slots = new KeySlots(ITEM_KEYS);
const OPEN_BRACE = 0x7b;
const QUOTE = 0x22;
/** Items that a model's turn has after its reasoning, and that are good without an id. */
const FOLLOWS: ReadonlySet<string | undefined> = new Set(["function_call", "custom_tool_call"]);

/**
 * Takes the ids off the calls and messages that follow reasoning which is left out. A server that remembers an item by its id wants its
 * reasoning beside it ("was provided without its required 'reasoning' item"): another account of the same organization does.
 */
export function orphanedIds(bytes: Uint8Array, removed: readonly ItemRange[]): Edit[] {
  const edits: Edit[] = [];
  const gone = new Set(removed.map(({ start }) => start));
  for (const list of new Set(removed.map((item) => item.list))) {
    if (list >= 0) pushEdits(bytes, list, gone, edits);
  }
  return edits;
}

function pushEdits(bytes: Uint8Array, list: number, gone: ReadonlySet<number>, edits: Edit[]): void {
  let isOrphan = false;
  walkArray(bytes, list, bytes.length, (start, end) => {
    if (gone.has(start)) {
      isOrphan = true;
      return true;
    }
    if (bytes[start] !== OPEN_BRACE) return true;
    scanObject(bytes, start, end, ITEM_KEYS, slots);
    const type = textOf(bytes, TYPE);
    const role = textOf(bytes, ROLE);
    // Reasoning that stays begins another step, and so does what is said to the model.
    if (type === "reasoning" || (role !== undefined && role !== "assistant")) isOrphan = false;
    if (isOrphan && (FOLLOWS.has(type) || role === "assistant") && slots.has(ID)) {
      edits.push(memberRemoval(bytes, slots.start(ID), slots.end(ID)));
    }
    return true;
  });
}

function textOf(bytes: Uint8Array, key: number): string | undefined {
  return slots.has(key) && bytes[slots.start(key)] === QUOTE
    ? readString(bytes, slots.start(key), slots.end(key))
    : undefined;
}
