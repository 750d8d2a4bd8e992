import { skipSpace } from "../json/skip.ts";
import type { SseEvent } from "./event.ts";

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;

/** Whether what stands in an event's place is JSON, an object or a list of such: no line of an event begins so. */
export function isBareJson({ bytes, firstLine, end, dataLines }: SseEvent): boolean {
  if (dataLines > 0) return false;
  if (bytes[firstLine] !== OPEN_BRACKET) return bytes[firstLine] === OPEN_BRACE;
  return bytes[skipSpace(bytes, firstLine + 1, end)] === OPEN_BRACE;
}
