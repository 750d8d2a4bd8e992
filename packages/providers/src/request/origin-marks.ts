import { hashKey } from "@switchyard/core";
import { openSeal } from "../dialects/responses/thinking-seal.ts";
import { type Edit, splice } from "../json/splice.ts";
import { decodeUtf8, encodeUtf8 } from "../json/text.ts";
import { KeyFinder } from "./find-key.ts";
import { enclosingItem, itemType, removeItems } from "./remove-items.ts";

const ENCRYPTED = new KeyFinder("encrypted_content");
const PREFIX = "sy1.";
/** `sy1.<account>.` and its longest form. */
const MARK = /^sy1\.([0-9a-z]{1,7})\./u;
const LONGEST_MARK = 12;
const LONGEST_SEAL = 40;
const QUOTE = 0x22;
const NOTHING: readonly string[] = [];

/**
 * BH-31: what a provider encrypts, only the account that made it can read. Where several accounts may serve, it goes to the caller with a
 * mark of its account in front; the caller gives it back, so the origin is known on every replica and after restarts, and nothing is kept.
 */
export function originOf(provider: string): string {
  return hashKey(provider).toString(36);
}

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
  const kept = removeItems(body, items);
  return { body: withoutMarks(kept), isElsewhere };
}

/** An answer, or whole events of its stream, with every encrypted content marked. */
export function marked(bytes: Uint8Array, origin: string): Uint8Array {
  let edits: Edit[] | undefined;
  for (let at = ENCRYPTED.next(bytes, 0); at >= 0; at = ENCRYPTED.next(bytes, at)) {
    if (isEmpty(bytes, at)) continue;
    (edits ??= []).push({ start: at + 1, end: at + 1, replacement: encodeUtf8(`${PREFIX}${origin}.`) });
  }
  return edits === undefined ? bytes : splice(bytes, edits);
}

function withoutMarks(bytes: Uint8Array): Uint8Array {
  const edits: Edit[] = [];
  for (let at = ENCRYPTED.next(bytes, 0); at >= 0; at = ENCRYPTED.next(bytes, at)) {
    const origin = originAt(bytes, at);
    if (origin === undefined) continue;
    const end = at + 1 + PREFIX.length + origin.length + 1;
    edits.push({ start: at + 1, end, replacement: new Uint8Array(0) });
  }
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** The mark of the string whose quote is at `at`. Base64 holds no dot, so no content looks marked by chance. */
function originAt(bytes: Uint8Array, at: number): string | undefined {
  const start = at + 1;
  const text = decodeUtf8(bytes, start, Math.min(bytes.length, start + LONGEST_MARK + 1));
  return MARK.exec(text)?.[1];
}

/** Another vendor's thinking, which went to the caller through a translation. */
function isSealed(bytes: Uint8Array, at: number): boolean {
  const end = Math.min(bytes.length, at + 1 + LONGEST_SEAL);
  return openSeal(decodeUtf8(bytes, at + 1, end)) !== undefined;
}

function isEmpty(bytes: Uint8Array, at: number): boolean {
  return bytes[at + 1] === QUOTE;
}
