import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, scanDocument } from "../../json/scan.ts";
import { encodeUtf8, rangeEquals } from "../../json/text.ts";
import { skipSpace } from "../../json/skip.ts";
import type { AnswerReading } from "../answer.ts";
import { readOpenAiUsage } from "../usage.ts";
import { isObject } from "./chunk.ts";

const ANSWER_KEYS = new KeyTable(["choices", "data", "error", "object", "model", "usage"]);
const CHOICES = 0;
const DATA = 1;
const ERROR = 2;
const OBJECT = 3;
const MODEL = 4;
const USAGE = 5;

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;
const ERROR_OBJECT = encodeUtf8('"error"');

const slots = new KeySlots(ANSWER_KEYS);

/** Judges the body of a chat completion that does not stream. */
export function readChatAnswer(bytes: Uint8Array): AnswerReading {
  return readAnswer(bytes, CHOICES, "no choices");
}

/** Judges the body of an embeddings answer. */
export function readEmbeddingsAnswer(bytes: Uint8Array): AnswerReading {
  return readAnswer(bytes, DATA, "no embeddings");
}

function readAnswer(bytes: Uint8Array, list: number, missing: string): AnswerReading {
  if (!scanDocument(bytes, ANSWER_KEYS, slots)) return { kind: "invalid", reason: "not a JSON object" };
  const isErrorObject =
    slots.has(OBJECT) && rangeEquals(bytes, slots.start(OBJECT), slots.end(OBJECT), ERROR_OBJECT);
  if (isErrorObject || isFilled(bytes, slots, ERROR)) return { kind: "error" };
  if (!isListOfObjects(bytes, list)) return { kind: "invalid", reason: missing };
  const hasModel = isFilled(bytes, slots, MODEL) && bytes[slots.start(MODEL)] === 0x22;
  return {
    kind: "usable",
    model: hasModel ? readString(bytes, slots.start(MODEL), slots.end(MODEL)) : undefined,
    usage: isObject(bytes, slots, USAGE)
      ? readOpenAiUsage(bytes, slots.start(USAGE), slots.end(USAGE))
      : undefined,
  };
}

function isListOfObjects(bytes: Uint8Array, key: number): boolean {
  if (!slots.has(key) || bytes[slots.start(key)] !== OPEN_BRACKET) return false;
  return bytes[skipSpace(bytes, slots.start(key) + 1, slots.end(key))] === OPEN_BRACE;
}
