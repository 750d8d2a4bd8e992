import { KeyTable } from "../../json/key-table.ts";
import { KeySlots, scanDocument, valueStart } from "../../json/scan.ts";
import type { AnswerReading } from "../answer.ts";
import { readResponseObject } from "./response-object.ts";

const NO_KEYS = new KeyTable([]);
const noSlots = new KeySlots(NO_KEYS);

/** An answer without output that says why it has none: cut short, or not made yet (`background`). */
const EXCUSED: ReadonlySet<string | undefined> = new Set<string | undefined>([
  "incomplete",
  "queued",
  "in_progress",
  "cancelled",
]);

/** Judges the body of a response that does not stream. One that says that it is complete and holds nothing is no answer (BH-07). */
export function readResponsesAnswer(bytes: Uint8Array): AnswerReading {
  const reading = scanDocument(bytes, NO_KEYS, noSlots)
    ? readResponseObject(bytes, valueStart(bytes), bytes.length)
    : undefined;
  if (reading === undefined) return { kind: "invalid", reason: "not a JSON object" };
  if (reading.failed || reading.status === "failed") return { kind: "error" };
  if (!reading.hasOutput && !EXCUSED.has(reading.status)) return { kind: "invalid", reason: "no output" };
  const { model, usage, keeps } = reading;
  return { kind: "usable", model, usage, keeps };
}
