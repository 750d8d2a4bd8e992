import { encodeUtf8, rangeEquals } from "../json/text.ts";

const CR = 0x0d;
const LF = 0x0a;
const COLON = 0x3a;
const SPACE = 0x20;
const LETTER_D = 0x64;
const LETTER_E = 0x65;
const ERROR_NAME = encodeUtf8("error");

/**
 * One event of a stream as ranges of `bytes`: nothing is decoded or copied. The framer uses one object for all events, so what is
 * needed later is read out before the next.
 */
export class SseEvent {
  bytes: Uint8Array = new Uint8Array(0);
  /** First byte of the event, comments and a byte order mark included. */
  start = 0;
  /** Start of its first line, which a byte order mark may precede. */
  firstLine = 0;
  /** The byte after its blank line. */
  end = 0;
  /** How many `data` lines there are; the range below is that of the last one. */
  dataLines = 0;
  dataStart = 0;
  dataEnd = 0;
  /** Range of the `event` field's value, empty without one. */
  nameStart = 0;
  nameEnd = 0;

  open(bytes: Uint8Array, start: number, firstLine: number): void {
    this.bytes = bytes;
    this.start = start;
    this.firstLine = firstLine;
    this.dataLines = 0;
    this.nameStart = 0;
    this.nameEnd = 0;
  }

  /** Whether its name says that it tells of an error. */
  get isNamedError(): boolean {
    return rangeEquals(this.bytes, this.nameStart, this.nameEnd, ERROR_NAME);
  }

  /** Takes in the line from `start` up to its line end. Comments and other fields say nothing. */
  addLine(start: number, end: number): void {
    const first = this.bytes[start] as number;
    if (first === LETTER_D) {
      const value = this.#valueOf(start, end, "data");
      if (value < 0) return;
      this.dataLines++;
      this.dataStart = value;
      this.dataEnd = end;
    } else if (first === LETTER_E) {
      const value = this.#valueOf(start, end, "event");
      if (value < 0) return;
      this.nameStart = value;
      this.nameEnd = end;
    }
  }

  /** Start of the value when the line is of this field, else -1. The space after the colon is optional and not part of it. */
  #valueOf(start: number, end: number, field: string): number {
    const colon = start + field.length;
    if (colon > end) return -1;
    for (let offset = 1; offset < field.length; offset++) {
      if (this.bytes[start + offset] !== field.charCodeAt(offset)) return -1;
    }
    if (colon === end) return end;
    if (this.bytes[colon] !== COLON) return -1;
    return colon + 1 < end && this.bytes[colon + 1] === SPACE ? colon + 2 : colon + 1;
  }

  /** The data of an event with several `data` lines: their values joined by line feeds. */
  joinedData(): Uint8Array {
    const joined = new Uint8Array(this.end - this.start);
    const line = new SseEvent();
    line.open(this.bytes, this.start, this.firstLine);
    let length = 0;
    let start = this.firstLine;
    for (let position = start; position < this.end; position++) {
      const byte = this.bytes[position];
      if (byte !== LF && byte !== CR) continue;
      const before = line.dataLines;
      line.addLine(start, position);
      start = position + 1;
      if (line.dataLines === before) continue;
      if (before > 0) joined[length++] = LF;
      joined.set(this.bytes.subarray(line.dataStart, line.dataEnd), length);
      length += line.dataEnd - line.dataStart;
    }
    return joined.subarray(0, length);
  }
}
