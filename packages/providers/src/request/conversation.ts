import { KeyTable } from "../json/key-table.ts";
import { KeySlots, readString, scanObject, walkArray } from "../json/scan.ts";
import type { BodyFacts, ByteRange } from "./facts.ts";

const MESSAGE_KEYS = new KeyTable(["role", "content"]);
const PART_KEYS = new KeyTable(["type", "text", "source"]);
const SOURCE_KEYS = new KeyTable(["type", "data"]);

/** Not in any text that JSON can hold unescaped, and rare in one that escapes it: keeps ("ab", "c") apart from ("a", "bc"). */
const SEPARATOR = "\u0000";

/**
 * The text that names a conversation (F4): the system prompt and the first user message that has text. Absent when neither has any.
 * Images and other files do not count; plain-text documents do. Reads no further than that message.
 */
export function readConversationText(bytes: Uint8Array, facts: BodyFacts): string | undefined {
  const { system, instructions, messages, input } = facts.layout;
  const systemField = facts.endpoint === "responses" ? instructions : system;
  const systemTexts = facts.endpoint === "chat" ? [] : [readContent(bytes, systemField)];
  const list = facts.endpoint === "responses" ? input : messages;
  let userText = "";
  if (list !== undefined && bytes[list.start] === 0x22) userText = readString(bytes, list.start, list.end);
  if (list !== undefined && bytes[list.start] === 0x5b) {
    walkArray(bytes, list.start, list.end, (start, end) => {
      const { role, content } = readMessage(bytes, start, end);
      if (role === "system" || role === "developer") systemTexts.push(readContent(bytes, content));
      if (role === "user") userText = readContent(bytes, content);
      return userText === "";
    });
  }
  const systemText = systemTexts.join("");
  return systemText === "" && userText === "" ? undefined : systemText + SEPARATOR + userText;
}

function readMessage(
  bytes: Uint8Array,
  start: number,
  end: number,
): { role: string | undefined; content: ByteRange | undefined } {
  const slots = new KeySlots(MESSAGE_KEYS);
  if (bytes[start] !== 0x7b) return { role: undefined, content: undefined };
  scanObject(bytes, start, end, MESSAGE_KEYS, slots);
  return { role: textAt(bytes, slots, 0), content: rangeAt(slots, 1) };
}

/** All text of a content, which is a string or a list of parts. */
function readContent(bytes: Uint8Array, content: ByteRange | undefined): string {
  if (content === undefined) return "";
  if (bytes[content.start] === 0x22) return readString(bytes, content.start, content.end);
  if (bytes[content.start] !== 0x5b) return "";
  let text = "";
  walkArray(bytes, content.start, content.end, (start, end) => {
    text += readPart(bytes, start, end);
    return true;
  });
  return text;
}

function readPart(bytes: Uint8Array, start: number, end: number): string {
  const slots = new KeySlots(PART_KEYS);
  if (bytes[start] !== 0x7b) return "";
  scanObject(bytes, start, end, PART_KEYS, slots);
  const type = textAt(bytes, slots, 0);
  if (type === "text" || type === "input_text") return textAt(bytes, slots, 1) ?? "";
  const source = rangeAt(slots, 2);
  if (type !== "document" || source === undefined || bytes[source.start] !== 0x7b) return "";
  const sourceSlots = new KeySlots(SOURCE_KEYS);
  scanObject(bytes, source.start, source.end, SOURCE_KEYS, sourceSlots);
  return textAt(bytes, sourceSlots, 0) === "text" ? (textAt(bytes, sourceSlots, 1) ?? "") : "";
}

function rangeAt(slots: KeySlots, key: number): ByteRange | undefined {
  return slots.has(key) ? { start: slots.start(key), end: slots.end(key) } : undefined;
}

function textAt(bytes: Uint8Array, slots: KeySlots, key: number): string | undefined {
  const isText = slots.has(key) && bytes[slots.start(key)] === 0x22;
  return isText ? readString(bytes, slots.start(key), slots.end(key)) : undefined;
}
