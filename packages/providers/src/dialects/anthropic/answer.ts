import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, readValue, scanDocument } from "../../json/scan.ts";
import { encodeUtf8, rangeEquals } from "../../json/text.ts";
import type { AnswerReading } from "../answer.ts";
import { anthropicUsage } from "../usage.ts";

const ANSWER_KEYS = new KeyTable([
  "type",
  "error",
  "content",
  "stop_reason",
  "model",
  "usage",
  "input_tokens",
]);
const TYPE = 0;
const ERROR = 1;
const CONTENT = 2;
const STOP_REASON = 3;
const MODEL = 4;
const USAGE = 5;
const INPUT_TOKENS = 6;

const ERROR_TYPE = encodeUtf8('"error"');
const OPEN_BRACKET = 0x5b;

const slots = new KeySlots(ANSWER_KEYS);

/** Judges an answer of the messages endpoint that does not stream. One without content serves when it says why it stopped. */
export function readMessagesAnswer(bytes: Uint8Array): AnswerReading {
  const early = readKind(bytes);
  if (early !== undefined) return early;
  const hasContent = slots.has(CONTENT) && bytes[slots.start(CONTENT)] === OPEN_BRACKET;
  const says = isFilled(bytes, slots, CONTENT) || isFilled(bytes, slots, STOP_REASON);
  if (!hasContent || !says) return { kind: "invalid", reason: "no content" };
  const hasModel = isFilled(bytes, slots, MODEL) && bytes[slots.start(MODEL)] === 0x22;
  return {
    kind: "usable",
    model: hasModel ? readString(bytes, slots.start(MODEL), slots.end(MODEL)) : undefined,
    usage: slots.has(USAGE)
      ? anthropicUsage(readValue(bytes, slots.start(USAGE), slots.end(USAGE)))
      : undefined,
  };
}

/** Judges an answer of `count_tokens`. It costs nothing, so it has no usage. */
export function readCountAnswer(bytes: Uint8Array): AnswerReading {
  const early = readKind(bytes);
  if (early !== undefined) return early;
  const first = slots.has(INPUT_TOKENS) ? (bytes[slots.start(INPUT_TOKENS)] as number) : 0;
  if (first < 0x30 || first > 0x39) return { kind: "invalid", reason: "no count of tokens" };
  return { kind: "usable", model: undefined, usage: undefined };
}

function readKind(bytes: Uint8Array): AnswerReading | undefined {
  if (!scanDocument(bytes, ANSWER_KEYS, slots)) return { kind: "invalid", reason: "not a JSON object" };
  const isError = slots.has(TYPE) && rangeEquals(bytes, slots.start(TYPE), slots.end(TYPE), ERROR_TYPE);
  return isError || isFilled(bytes, slots, ERROR) ? { kind: "error" } : undefined;
}
