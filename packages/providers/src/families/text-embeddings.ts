import { KeyTable } from "../json/key-table.ts";
import { replaceMembers } from "../json/replace-members.ts";
import { KeySlots, scanDocument, walkArray } from "../json/scan.ts";
import { invalidField, notTranslatable } from "../translate/fault.ts";

const INPUT_KEYS = new KeyTable(["input"]);
const FORMAT_KEYS = new KeyTable(["encoding_format"]);
const slots = new KeySlots(INPUT_KEYS);

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;

/**
 * An embeddings body for a provider that takes texts alone and gives numbers alone: without `encoding_format`, which is ours to keep
 * (BH-29). Tokens are refused, since their vocabulary is another model's (BH-30).
 */
export function textEmbeddings(bytes: Uint8Array): Uint8Array {
  if (scanDocument(bytes, INPUT_KEYS, slots)) checkInput(bytes, slots.start(0), slots.end(0));
  return replaceMembers(bytes, FORMAT_KEYS);
}

function checkInput(bytes: Uint8Array, start: number, end: number): void {
  if (bytes[start] === QUOTE) return;
  if (bytes[start] !== OPEN_BRACKET) throw invalidField("input", "must be a string or an array of strings");
  let count = 0;
  walkArray(bytes, start, end, (at) => {
    count++;
    if (bytes[at] === QUOTE) return true;
    throw notTranslatable("input", "tokens mean nothing there, only text does");
  });
  if (count === 0) throw invalidField("input", "must not be empty");
}
