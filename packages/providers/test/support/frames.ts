import { crc32 } from "../../src/event-stream/crc32.ts";
import { bytesOf, concat } from "./bytes.ts";

function word(value: number): Uint8Array {
  return Uint8Array.of(value >>> 24, (value >>> 16) & 0xff, (value >>> 8) & 0xff, value & 0xff);
}

function textHeader(name: string, value: string): Uint8Array {
  const bytes = bytesOf(value);
  return concat([
    Uint8Array.of(name.length),
    bytesOf(name),
    Uint8Array.of(7, bytes.length >>> 8, bytes.length & 0xff),
    bytes,
  ]);
}

/** A frame with these header bytes and payload, its checksums right. */
export function rawFrame(headers: Uint8Array, payload: Uint8Array): Uint8Array {
  const start = concat([word(headers.length + payload.length + 16), word(headers.length)]);
  const body = concat([start, word(crc32(start, 0, start.length)), headers, payload]);
  return concat([body, word(crc32(body, 0, body.length))]);
}

/** A frame with text headers. */
export function frame(headers: Readonly<Record<string, string>>, payload: object | string): Uint8Array {
  const text = typeof payload === "string" ? payload : JSON.stringify(payload);
  const list = Object.entries(headers).map(([name, value]) => textHeader(name, value));
  return rawFrame(concat(list), bytesOf(text));
}

/** An event of `converse-stream`. */
export function converseEvent(type: string, payload: object | string): Uint8Array {
  return frame({ ":event-type": type, ":message-type": "event" }, payload);
}

/** An exception in one. */
export function converseException(type: string, payload: object | string): Uint8Array {
  return frame({ ":exception-type": type, ":message-type": "exception" }, payload);
}
