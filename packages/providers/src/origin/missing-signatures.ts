import { KeyTable } from "../json/key-table.ts";
import { KeySlots, scanObject, walkArray } from "../json/scan.ts";
import { skipSpace } from "../json/skip.ts";
import { type Edit, splice } from "../json/splice.ts";
import { encodeUtf8 } from "../json/text.ts";
import type { ByteRange } from "../request/facts.ts";
import { KeyFinder } from "../request/find-key.ts";
import { NO_SIGNATURE } from "./no-signature.ts";

const CALLS = new KeyFinder("tool_calls");
const SIGNATURES = new KeyFinder("thought_signature");
const KEYS = new KeyTable(["tool_calls", "extra_content"]);
const slots = new KeySlots(KEYS);
const MEMBER = encodeUtf8(`"extra_content":{"google":{"thought_signature":"${NO_SIGNATURE}"}},`);
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;

/**
 * Chat messages for Google's newer models, which refuse calls that came from elsewhere or lost their signature on the way: each answer's
 * first call says that it has none (BH-26). A body without any such comes back as it is (P1).
 */
export function withMissingSignatures(bytes: Uint8Array, messages: ByteRange | undefined): Uint8Array {
  if (messages === undefined || bytes[messages.start] !== OPEN_BRACKET) return bytes;
  if (!CALLS.isIn(bytes, messages.start, messages.end)) return bytes;
  const edits: Edit[] = [];
  walkArray(bytes, messages.start, messages.end, (start, end) => {
    if (bytes[start] !== OPEN_BRACE) return true;
    scanObject(bytes, start, end, KEYS, slots);
    if (!slots.has(0) || bytes[slots.start(0)] !== OPEN_BRACKET) return true;
    const at = unsignedCall(bytes, { start: slots.start(0), end: slots.end(0) });
    if (at !== undefined) edits.push({ start: at, end: at, replacement: MEMBER });
    return true;
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

/** Where the first member of a list's first call stands, where no call is signed. Of parallel calls only the first has a signature. */
function unsignedCall(bytes: Uint8Array, { start, end }: ByteRange): number | undefined {
  const signature = SIGNATURES.next(bytes, start);
  if (signature >= 0 && signature < end) return undefined;
  const call = skipSpace(bytes, start + 1, end);
  if (bytes[call] !== OPEN_BRACE) return undefined;
  scanObject(bytes, call, end, KEYS, slots);
  const member = skipSpace(bytes, call + 1, end);
  return slots.has(1) || bytes[member] !== QUOTE ? undefined : member;
}
