import { KeyTable } from "../json/key-table.ts";
import { memberRemoval } from "../json/replace-members.ts";
import { KeySlots, scanObject, walkArray } from "../json/scan.ts";
import { type Edit, splice } from "../json/splice.ts";
import type { ByteRange } from "../request/facts.ts";
import { KeyFinder } from "../request/find-key.ts";
import { originAt } from "./origin-mark.ts";

const SIGNATURES = new KeyFinder("thought_signature");
const KEYS = new KeyTable(["extra_content", "tool_calls"]);
const EXTRA = 0;
const CALLS = 1;
const slots = new KeySlots(KEYS);
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Who gets a conversation in which Google may have served. */
export interface SignatureReader {
  /** The account's mark. */
  readonly own: string;
  /** It may stand in front of Google's models, so that a signature without a mark may be its own. */
  readonly mayBeGoogle: boolean;
}

/**
 * Chat messages or items of responses without Google's signatures of others, `extra_content` and all: strict servers refuse a field that they
 * don't know (BH-26). A body without any comes back as it is (P1).
 */
export function withoutForeignSignatures(
  bytes: Uint8Array,
  list: ByteRange | undefined,
  reader: SignatureReader,
): Uint8Array {
  if (list === undefined || bytes[list.start] !== OPEN_BRACKET) return bytes;
  const first = SIGNATURES.next(bytes, list.start);
  if (first < 0 || first >= list.end) return bytes;
  const edits: Edit[] = [];
  pushEdits(bytes, list, reader, edits);
  return edits.length === 0
    ? bytes
    : splice(
        bytes,
        edits.toSorted((one, other) => one.start - other.start),
      );
}

function pushEdits(bytes: Uint8Array, list: ByteRange, reader: SignatureReader, edits: Edit[]): void {
  walkArray(bytes, list.start, list.end, (start, end) => {
    if (bytes[start] !== OPEN_BRACE) return true;
    scanObject(bytes, start, end, KEYS, slots);
    const calls = slots.has(CALLS) ? { start: slots.start(CALLS), end: slots.end(CALLS) } : undefined;
    if (slots.has(EXTRA) && isForeign(bytes, slots.start(EXTRA), slots.end(EXTRA), reader)) {
      edits.push(memberRemoval(bytes, slots.start(EXTRA), slots.end(EXTRA)));
    }
    if (calls !== undefined && bytes[calls.start] === OPEN_BRACKET) pushEdits(bytes, calls, reader, edits);
    return true;
  });
}

function isForeign(bytes: Uint8Array, start: number, end: number, reader: SignatureReader): boolean {
  const at = SIGNATURES.next(bytes, start);
  if (at < 0 || at >= end) return false;
  const origin = originAt(bytes, at);
  return origin === undefined ? !reader.mayBeGoogle : origin !== reader.own;
}
