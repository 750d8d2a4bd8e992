import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, scanDocument, scanObject } from "../../json/scan.ts";
import { splice } from "../../json/splice.ts";
import { encodeUtf8, rangeEquals } from "../../json/text.ts";
import { KeyFinder } from "../../request/find-key.ts";
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

const ERRORS = new KeyFinder("error");
const CHOICE_KEYS = new KeyTable(["error", "finish_reason"]);
const choiceSlots = new KeySlots(CHOICE_KEYS);
const ERROR_WORD = encodeUtf8('"error"');
const EMPTY_BODY = encodeUtf8('{"error":}');
const ERROR_PLACE = EMPTY_BODY.length - 1;

const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

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
    slots.has(OBJECT) && rangeEquals(bytes, slots.start(OBJECT), slots.end(OBJECT), ERROR_WORD);
  if (isErrorObject || isFilled(bytes, slots, ERROR)) return { kind: "error" };
  if (!isListOfObjects(bytes, list)) return { kind: "invalid", reason: missing };
  const said =
    list === CHOICES && ERRORS.isIn(bytes, slots.start(list), slots.end(list))
      ? choiceError(bytes)
      : undefined;
  if (said !== undefined) return { kind: "error", said };
  const hasModel = isFilled(bytes, slots, MODEL) && bytes[slots.start(MODEL)] === 0x22;
  return {
    kind: "usable",
    model: hasModel ? readString(bytes, slots.start(MODEL), slots.end(MODEL)) : undefined,
    usage: isObject(bytes, slots, USAGE)
      ? readOpenAiUsage(bytes, slots.start(USAGE), slots.end(USAGE))
      : undefined,
  };
}

/** A server that broke off says so in its choice (OpenRouter): the error as a body of its own. */
function choiceError(bytes: Uint8Array): Uint8Array | undefined {
  const start = skipSpace(bytes, slots.start(CHOICES) + 1, slots.end(CHOICES));
  scanObject(bytes, start, slots.end(CHOICES), CHOICE_KEYS, choiceSlots);
  if (!isFilled(bytes, choiceSlots, 0)) return undefined;
  const reason = isFilled(bytes, choiceSlots, 1) ? choiceSlots.start(1) : undefined;
  if (reason !== undefined && !rangeEquals(bytes, reason, choiceSlots.end(1), ERROR_WORD)) return undefined;
  const error = bytes.subarray(choiceSlots.start(0), choiceSlots.end(0));
  return splice(EMPTY_BODY, [{ start: ERROR_PLACE, end: ERROR_PLACE, replacement: error }]);
}

function isListOfObjects(bytes: Uint8Array, key: number): boolean {
  if (!slots.has(key) || bytes[slots.start(key)] !== OPEN_BRACKET) return false;
  return bytes[skipSpace(bytes, slots.start(key) + 1, slots.end(key))] === OPEN_BRACE;
}
