import { KeyTable } from "../json/key-table.ts";
import { KeySlots, scanDocument, scanObject, walkArray } from "../json/scan.ts";
import { type Edit, splice } from "../json/splice.ts";
import { encodeUtf8, rangeEquals } from "../json/text.ts";
import type { ByteRange } from "../request/facts.ts";
import { enclosingItem, removeItems } from "./remove-items.ts";

const BODY_KEYS = new KeyTable(["messages", "thinking", "context_management"]);
const MESSAGES = 0;
const WISH = 1;
const MANAGEMENT = 2;
const MESSAGE_KEYS = new KeyTable(["role", "content"]);
const TYPE_KEYS = new KeyTable(["type"]);
const bodySlots = new KeySlots(BODY_KEYS);
const messageSlots = new KeySlots(MESSAGE_KEYS);
const typeSlots = new KeySlots(TYPE_KEYS);

const DISABLED = encodeUtf8('{"type":"disabled"}');
const ENABLED = encodeUtf8('"enabled"');
const ASSISTANT = encodeUtf8('"assistant"');
const THINKING = encodeUtf8('"thinking"');
const REDACTED = encodeUtf8('"redacted_thinking"');
const RESULT = encodeUtf8('"tool_result"');
/** An edit of the context that the API takes only of a model that thinks. */
const CLEARING = encodeUtf8('"clear_thinking_20251015"');
const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/**
 * A messages request that can go on after thinking was taken out of it. Where results come back to calls whose thinking is gone, the API
 * refuses a model that is to think by a budget, so this turn it answers unthinking; thinking that adapts minds nothing.
 */
export function withoutLostThinking(bytes: Uint8Array): Uint8Array {
  if (!scanDocument(bytes, BODY_KEYS, bodySlots)) return bytes;
  const messages = rangeOf(MESSAGES);
  const wish = rangeOf(WISH);
  const management = rangeOf(MANAGEMENT);
  if (messages === undefined || wish === undefined || bytes[wish.start] !== OPEN_BRACE) return bytes;
  if (!isOfType(bytes, wish.start, wish.end, ENABLED) || !lacksThinking(bytes, messages)) return bytes;
  const edits: Edit[] = [{ ...wish, replacement: DISABLED }];
  const disabled = splice(bytes, edits);
  // Before the wish or after it: its bytes are looked for anew.
  return management === undefined ? disabled : withoutClearing(disabled);
}

function rangeOf(key: number): ByteRange | undefined {
  return bodySlots.has(key) ? { start: bodySlots.start(key), end: bodySlots.end(key) } : undefined;
}

function withoutClearing(bytes: Uint8Array): Uint8Array {
  scanDocument(bytes, BODY_KEYS, bodySlots);
  const end = bodySlots.end(MANAGEMENT) - CLEARING.length;
  for (let at = bodySlots.start(MANAGEMENT); at < end; at++) {
    if (rangeEquals(bytes, at, at + CLEARING.length, CLEARING))
      return removeItems(bytes, [enclosingItem(bytes, at)]);
  }
  return bytes;
}

/** Whether the last turn holds results of calls, and the one before it, which made them, holds no thinking. */
function lacksThinking(bytes: Uint8Array, messages: ByteRange): boolean {
  let thought = false;
  let lastIsAssistant = false;
  let answers = false;
  walkArray(bytes, messages.start, messages.end, (start, end) => {
    if (bytes[start] !== OPEN_BRACE) return true;
    scanObject(bytes, start, end, MESSAGE_KEYS, messageSlots);
    const isAssistant =
      messageSlots.has(0) && rangeEquals(bytes, messageSlots.start(0), messageSlots.end(0), ASSISTANT);
    const content = messageSlots.has(1)
      ? { start: messageSlots.start(1), end: messageSlots.end(1) }
      : undefined;
    if (isAssistant) thought = holds(bytes, content, [THINKING, REDACTED]) || (lastIsAssistant && thought);
    else answers = holds(bytes, content, [RESULT]);
    lastIsAssistant = isAssistant;
    return true;
  });
  return !lastIsAssistant && answers && !thought;
}

function holds(bytes: Uint8Array, content: ByteRange | undefined, types: readonly Uint8Array[]): boolean {
  if (content === undefined || bytes[content.start] !== OPEN_BRACKET) return false;
  let found = false;
  walkArray(bytes, content.start, content.end, (start, end) => {
    found ||= bytes[start] === OPEN_BRACE && types.some((type) => isOfType(bytes, start, end, type));
    return !found;
  });
  return found;
}

function isOfType(bytes: Uint8Array, start: number, end: number, type: Uint8Array): boolean {
  scanObject(bytes, start, end, TYPE_KEYS, typeSlots);
  return typeSlots.has(0) && rangeEquals(bytes, typeSlots.start(0), typeSlots.end(0), type);
}
