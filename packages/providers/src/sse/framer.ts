import { SseEvent } from "./event.ts";

/** The content type of server-sent events. */
export const SSE_TYPE = "text/event-stream";

/** Largest event that may be spread over chunks, bytes. What a provider sends beyond it is no event but a fault. */
export const MAX_EVENT_BYTES: number = 4 * 1024 * 1024;

const CR = 0x0d;
const LF = 0x0a;

/**
 * Cuts a byte stream into server-sent events, wherever its chunks begin and end: LF, CRLF or CR, inside a character or between a CR
 * and its LF. An event that lies whole in a chunk is handed over in place; one that is spread over chunks is put together once.
 */
export class SseFramer {
  readonly #onEvent: (event: SseEvent) => void;
  readonly #event = new SseEvent();
  #atStart = true;
  /** The stream's last event ended with a CR at the end of a chunk: an LF that comes next belongs to that line end. */
  #swallowLf = false;
  #carry = new Uint8Array(0);
  #carried = 0;
  #overflowed = false;
  // Next line feed and carriage return in the array being walked; its length when there is none.
  #walked: Uint8Array = this.#carry;
  #lf = 0;
  #cr = 0;

  /** `onEvent` is called for each event in order and must not push. */
  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
  }

  /** Takes in a chunk, which may be reused by its owner afterwards. False once an unfinished event has outgrown {@link MAX_EVENT_BYTES}. */
  push(chunk: Uint8Array): boolean {
    if (this.#overflowed) return false;
    if (chunk.length === 0) return true;
    this.#walk(chunk, 0);
    let from = 0;
    if (this.#swallowLf) {
      this.#swallowLf = false;
      if (chunk[0] === LF) from = this.#emitStray(chunk);
    }
    if (this.#carried > 0) {
      const end = this.#findEnd(chunk);
      if (end < 0) return this.#keep(chunk, 0);
      this.#emitJoined(chunk, end);
      this.#walk(chunk, end);
      from = end;
    }
    while (from < chunk.length) {
      const end = this.#readEvent(chunk, from);
      if (end < 0) return this.#keep(chunk, from);
      this.#emit(end);
      from = end;
    }
    return true;
  }

  /** The stream is over: an event without its blank line is handed over with one put after it. */
  finish(): void {
    if (this.#carried === 0 || this.#overflowed) return;
    const last = this.#carry[this.#carried - 1];
    const blank = last === LF || last === CR ? [LF] : [LF, LF];
    // After a CR the first LF would only complete that line's end.
    if (last === CR) blank.push(LF);
    this.#emitJoined(Uint8Array.from(blank), blank.length);
  }

  #emit(end: number): void {
    this.#atStart = false;
    this.#event.end = end;
    this.#onEvent(this.#event);
  }

  #emitStray(chunk: Uint8Array): number {
    this.#event.open(chunk, 0, 0);
    this.#emit(1);
    return 1;
  }

  #emitJoined(chunk: Uint8Array, end: number): void {
    const joined = new Uint8Array(this.#carried + end);
    joined.set(this.#carry.subarray(0, this.#carried));
    joined.set(chunk.subarray(0, end), this.#carried);
    this.#carried = 0;
    this.#walk(joined, 0);
    let from = 0;
    while (from < joined.length) {
      const eventEnd = this.#readEvent(joined, from);
      if (eventEnd < 0) return;
      this.#emit(eventEnd);
      from = eventEnd;
    }
    // Only the chunk's own end may leave a line end open.
    this.#swallowLf = this.#swallowLf && end === chunk.length;
  }

  #walk(bytes: Uint8Array, from: number): void {
    this.#walked = bytes;
    this.#lf = from - 1;
    this.#cr = from - 1;
  }

  /** Position of the first CR or LF from `from` on, or the array's length. Each byte is searched once, however many lines there are. */
  #lineEnd(from: number): number {
    const bytes = this.#walked;
    if (this.#lf < from) this.#lf = find(bytes, LF, from);
    if (this.#cr < from) this.#cr = find(bytes, CR, from);
    return this.#lf < this.#cr ? this.#lf : this.#cr;
  }

  /** Start of the line after the line end at `stop`. */
  #nextLine(bytes: Uint8Array, stop: number): number {
    return bytes[stop] === CR && bytes[stop + 1] === LF ? stop + 2 : stop + 1;
  }

  /** Reads the event that starts at `from` and returns its end, or -1 when its blank line is not there yet. */
  #readEvent(bytes: Uint8Array, from: number): number {
    const event = this.#event;
    const hasMark =
      this.#atStart && bytes[from] === 0xef && bytes[from + 1] === 0xbb && bytes[from + 2] === 0xbf;
    let line = hasMark ? from + 3 : from;
    event.open(bytes, from, line);
    for (;;) {
      const stop = this.#lineEnd(line);
      if (stop >= bytes.length) return -1;
      const next = this.#nextLine(bytes, stop);
      if (stop === line) {
        this.#swallowLf = bytes[stop] === CR && next === bytes.length && stop + 1 === next;
        return next;
      }
      event.addLine(line, stop);
      line = next;
    }
  }

  /** Where the event that was carried over ends in this chunk, or -1. */
  #findEnd(chunk: Uint8Array): number {
    const last = this.#carry[this.#carried - 1];
    let blank = last === LF || last === CR;
    let line = last === CR && chunk[0] === LF ? 1 : 0;
    for (;;) {
      const stop = this.#lineEnd(line);
      if (stop >= chunk.length) return -1;
      const next = this.#nextLine(chunk, stop);
      if (blank && stop === line) return next;
      blank = true;
      line = next;
    }
  }

  /** Copies the chunk's rest, which is part of an event, and says whether it may be that large. */
  #keep(chunk: Uint8Array, from: number): boolean {
    const length = this.#carried + chunk.length - from;
    if (length > MAX_EVENT_BYTES) {
      this.#overflowed = true;
      this.#carry = new Uint8Array(0);
      this.#carried = 0;
      return false;
    }
    if (length > this.#carry.length) {
      const larger = new Uint8Array(Math.max(1024, length * 2));
      larger.set(this.#carry.subarray(0, this.#carried));
      this.#carry = larger;
    }
    this.#carry.set(chunk.subarray(from), this.#carried);
    this.#carried = length;
    return true;
  }
}

function find(bytes: Uint8Array, byte: number, from: number): number {
  // The plain method: a Buffer's own is slower.
  const found = Uint8Array.prototype.indexOf.call(bytes, byte, from);
  return found < 0 ? bytes.length : found;
}
