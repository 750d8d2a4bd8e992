import type { ExchangeHead } from "@switchyard/upstream";

export const EVENT_STREAM = "text/event-stream";
const LONGEST = 6;
const STARTS = [":", "data:", "event:", "id:", "retry:"];

/** Whether a body's first bytes are those of an event stream. No JSON starts like one. */
export function startsAsEvents(first: Uint8Array): boolean {
  const text = String.fromCharCode(...first.subarray(0, LONGEST));
  return STARTS.some((start) => start.startsWith(text) || text.startsWith(start));
}

/** The head of a stream whose provider did not say that it is one. */
export function asEventStream({ status, headers }: ExchangeHead): ExchangeHead {
  const kept = ["content-type", EVENT_STREAM];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    if (headers[at] !== "content-type") kept.push(headers[at] as string, headers[at + 1] as string);
  }
  return { status, headers: kept };
}
