import { decodeBase64, encodeBase64 } from "../../json/base64.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, readValue, scanDocument, scanObject, walkArray } from "../../json/scan.ts";
import { type Edit, splice } from "../../json/splice.ts";
import { encodeUtf8 } from "../../json/text.ts";

const ANSWER_KEYS = new KeyTable(["data"]);
const ITEM_KEYS = new KeyTable(["embedding"]);
const answerSlots = new KeySlots(ANSWER_KEYS);
const itemSlots = new KeySlots(ITEM_KEYS);

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

/**
 * Gives an embeddings answer the format that its caller asked for, whatever the provider made of the wish (BH-29): base64 of
 * little-endian 32-bit floats, or lists of numbers. Only the vectors change; bytes that are right come back as they are.
 */
export function convertEmbeddings(bytes: Uint8Array, wanted: "float" | "base64"): Uint8Array {
  if (!scanDocument(bytes, ANSWER_KEYS, answerSlots) || bytes[answerSlots.start(0)] !== OPEN_BRACKET)
    return bytes;
  const edits: Edit[] = [];
  walkArray(bytes, answerSlots.start(0), answerSlots.end(0), (start, end) => {
    const edit = bytes[start] === OPEN_BRACE ? vectorEdit(bytes, start, end, wanted) : undefined;
    if (edit !== undefined) edits.push(edit);
    return true;
  });
  return edits.length === 0 ? bytes : splice(bytes, edits);
}

function vectorEdit(
  bytes: Uint8Array,
  itemStart: number,
  itemEnd: number,
  wanted: "float" | "base64",
): Edit | undefined {
  scanObject(bytes, itemStart, itemEnd, ITEM_KEYS, itemSlots);
  if (!itemSlots.has(0)) return undefined;
  const start = itemSlots.start(0);
  const end = itemSlots.end(0);
  const has = bytes[start] === QUOTE ? "base64" : bytes[start] === OPEN_BRACKET ? "float" : undefined;
  if (has === undefined || has === wanted) return undefined;
  const text =
    has === "float"
      ? floatsToBase64(readValue(bytes, start, end))
      : base64ToFloats(readString(bytes, start, end));
  return text === undefined ? undefined : { start, end, replacement: encodeUtf8(JSON.stringify(text)) };
}

/** Little-endian 32-bit floats of a list of numbers, in base64. Nothing when it is another kind of list. */
export function floatsToBase64(vector: unknown): string | undefined {
  if (!Array.isArray(vector)) return undefined;
  const bytes = new Uint8Array(vector.length * 4);
  const view = new DataView(bytes.buffer);
  for (const [place, value] of (vector as unknown[]).entries()) {
    if (typeof value !== "number") return undefined;
    view.setFloat32(place * 4, value, true);
  }
  return encodeBase64(bytes);
}

/** The numbers of a vector in base64. Nothing when the text is no list of finite 32-bit floats. */
export function base64ToFloats(text: string): number[] | undefined {
  const bytes = decodeBase64(text);
  if (bytes === undefined || bytes.length % 4 !== 0) return undefined;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const vector = Array.from({ length: bytes.length / 4 }, (_, place) => view.getFloat32(place * 4, true));
  return vector.every((value) => Number.isFinite(value)) ? vector : undefined;
}
