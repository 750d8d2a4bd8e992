import { isFilled } from "../../json/filled.ts";
import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, readString, readValue, scanDocument } from "../../json/scan.ts";
import { skipSpace } from "../../json/skip.ts";
import type { AnswerReading } from "../answer.ts";
import { geminiUsage } from "./usage.ts";

const ANSWER_KEYS = new KeyTable(["candidates", "promptFeedback", "error", "modelVersion", "usageMetadata"]);
const CANDIDATES = 0;
const PROMPT_FEEDBACK = 1;
const ERROR = 2;
const MODEL = 3;
const USAGE = 4;

const QUOTE = 0x22;
const OPEN_BRACKET = 0x5b;
const OPEN_BRACE = 0x7b;

const slots = new KeySlots(ANSWER_KEYS);

/** Judges an answer of `generateContent`. One without candidates serves when it says why the prompt was blocked. */
export function readGenerateAnswer(bytes: Uint8Array): AnswerReading {
  if (!scanDocument(bytes, ANSWER_KEYS, slots)) return { kind: "invalid", reason: "not a JSON object" };
  if (isFilled(bytes, slots, ERROR)) return { kind: "error" };
  if (!hasCandidate(bytes) && !isFilled(bytes, slots, PROMPT_FEEDBACK)) {
    return { kind: "invalid", reason: "no candidates" };
  }
  const hasModel = isFilled(bytes, slots, MODEL) && bytes[slots.start(MODEL)] === QUOTE;
  return {
    kind: "usable",
    model: hasModel ? readString(bytes, slots.start(MODEL), slots.end(MODEL)) : undefined,
    usage: slots.has(USAGE) ? geminiUsage(readValue(bytes, slots.start(USAGE), slots.end(USAGE))) : undefined,
  };
}

function hasCandidate(bytes: Uint8Array): boolean {
  if (!slots.has(CANDIDATES) || bytes[slots.start(CANDIDATES)] !== OPEN_BRACKET) return false;
  return bytes[skipSpace(bytes, slots.start(CANDIDATES) + 1, slots.end(CANDIDATES))] === OPEN_BRACE;
}
