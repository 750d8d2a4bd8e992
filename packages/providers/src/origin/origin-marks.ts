import { openSeal } from "./thinking-seal.ts";
import { skipString } from "../json/skip.ts";
import { type Edit, splice } from "../json/splice.ts";
import { decodeUtf8, encodeUtf8, rangeEquals } from "../json/text.ts";
import { KeyFinder } from "../request/find-key.ts";
import { NO_SIGNATURE } from "./no-signature.ts";
import { markOf, originAt } from "./origin-mark.ts";
import { orphanedIds } from "./orphaned-ids.ts";
import { enclosingItem, itemType, removeItems } from "./remove-items.ts";

/**
 * BH-31: what a provider encrypts or signs, only the account that made it can read or check. Where several accounts may serve, it goes to
 * the caller with a mark of its account in front; the caller gives it back, so the origin is known on every replica and after restarts,
 * and nothing is kept.
 */
const FINDERS = {
  encrypted_content: new KeyFinder("encrypted_content"),
  signature: new KeyFinder("signature"),
  thought_signature: new KeyFinder("thought_signature"),
} as const;

/** Keys whose values are marked. */
export type MarkedKey = keyof typeof FINDERS;

const ENCRYPTED = FINDERS.encrypted_content;
const NO_SIGNATURE_BYTES = encodeUtf8(NO_SIGNATURE);
const LONGEST_SEAL = 40;
const QUOTE = 0x22;
const NOTHING: readonly string[] = [];

/** Origins that a request's encrypted contents are marked with, in order, each once. */
export function readOrigins(body: Uint8Array): readonly string[] {
  let origins: string[] | undefined;
  for (let at = ENCRYPTED.next(body, 0); at >= 0; at = ENCRYPTED.next(body, at)) {
    const origin = originAt(body, at);
    if (origin !== undefined && origins?.includes(origin) !== true) (origins ??= []).push(origin);
  }
  return origins ?? NOTHING;
}

/** A request's body as one account may see it. */
export interface OwnContents {
  readonly body: Uint8Array;
  /** A compacted conversation is another account's: without it nothing would be left to go on with. */
  readonly isElsewhere: boolean;
}

/**
 * The account's own encrypted contents as it made them, and without those of others: their items are left out. `strangers`: whether contents
 * without a mark may be another account's, so that they are left out too.
 */
export function ownContents(body: Uint8Array, own: string, strangers: boolean): OwnContents {
  if (ENCRYPTED.next(body, 0) < 0) return { body, isElsewhere: false };
  const foreign: number[] = [];
  for (let at = ENCRYPTED.next(body, 0); at >= 0; at = ENCRYPTED.next(body, at)) {
    const origin = originAt(body, at);
    const isStranger = !isEmpty(body, at) && (strangers || isSealed(body, at));
    if (origin === undefined ? isStranger : origin !== own) foreign.push(at);
  }
  const items = foreign.map((at) => enclosingItem(body, at));
  const isElsewhere = items.some((item) => itemType(body, item)?.startsWith("compaction") === true);
  const kept = removeItems(body, items, orphanedIds(body, items));
  return { body: withoutMarks(kept), isElsewhere };
}

/** An answer, or whole events of its stream, with every value of the key marked. */
export function marked(bytes: Uint8Array, origin: string, key: MarkedKey): Uint8Array {
  const finder = FINDERS[key];
  let edits: Edit[] | undefined;
  for (let at = finder.next(bytes, 0); at >= 0; at = finder.next(bytes, at)) {
    if (isEmpty(bytes, at)) continue;
    (edits ??= []).push({ start: at + 1, end: at + 1, replacement: encodeUtf8(markOf(origin)) });
  }
  return edits === undefined ? bytes : splice(bytes, edits);
}

/**
 * Chat: Google's signatures of calls as this account made them, and Google's word for none where another signed. `strangers`: whether one
 * without a mark may be another account's.
 */
export function ownThoughtSignatures(body: Uint8Array, own: string, strangers: boolean): Uint8Array {
  const finder = FINDERS.thought_signature;
  const edits: Edit[] = [];
  for (let at = finder.next(body, 0); at >= 0; at = finder.next(body, at)) {
    const origin = originAt(body, at);
    const start = at + 1;
    if (origin === own) {
      edits.push({ start, end: start + markOf(own).length, replacement: new Uint8Array(0) });
    } else if (origin !== undefined || (strangers && !isEmpty(body, at))) {
      edits.push({ start, end: skipString(body, start, body.length) - 1, replacement: NO_SIGNATURE_BYTES });
    }
  }
  return edits.length === 0 ? body : splice(body, edits);
}

/** Messages: signatures without the account's own mark, as it made them. Each piece that a stream divided one into has a mark. */
export function withoutSignatureMarks(body: Uint8Array, own: string): Uint8Array {
  const finder = FINDERS.signature;
  const mark = encodeUtf8(markOf(own));
  const edits: Edit[] = [];
  for (let at = finder.next(body, 0); at >= 0; at = finder.next(body, at)) {
    if (originAt(body, at) !== own) continue;
    const end = skipString(body, at + 1, body.length);
    for (let start = at + 1; start + mark.length < end; start++) {
      if (!rangeEquals(body, start, start + mark.length, mark)) continue;
      edits.push({ start, end: start + mark.length, replacement: new Uint8Array(0) });
    }
  }
  return edits.length === 0 ? body : splice(body, edits);
}

function withoutMarks(bytes: Uint8Array): Uint8Array {
  const edits: Edit[] = [];
  for (let at = ENCRYPTED.next(bytes, 0); at >= 0; at = ENCRYPTED.next(bytes, at)) {
    const origin = originAt(bytes, at);
    if (origin === undefined) continue;
    const end = at + 1 + markOf(origin).length;
    edits.push({ start: at + 1, end, replacement: new Uint8Array(0) });
  }
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** Another vendor's thinking, which went to the caller through a translation. */
function isSealed(bytes: Uint8Array, at: number): boolean {
  const end = Math.min(bytes.length, at + 1 + LONGEST_SEAL);
  return openSeal(decodeUtf8(bytes, at + 1, end)) !== undefined;
}

function isEmpty(bytes: Uint8Array, at: number): boolean {
  return bytes[at + 1] === QUOTE;
}
