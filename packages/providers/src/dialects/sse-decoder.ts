import { isJsonObject, type JsonObject, parseJson } from "../json/lossless.ts";
import { copyRange, encodeUtf8, rangeEquals, trimEnd } from "../json/text.ts";
import { isBareJson } from "../sse/bare-json.ts";
import type { SseEvent } from "../sse/event.ts";
import { SseFramer } from "../sse/framer.ts";
import type { StreamDecoder } from "./format.ts";

const DONE = encodeUtf8("[DONE]");

/** What one dialect makes of the objects in its stream. */
export interface SseHandler {
  isError(data: JsonObject): boolean;
  take(data: JsonObject): void;
  /** A comment or an event without data. */
  onComment(): void;
  /** `[DONE]`. */
  onDone(): void;
  /** The body is over and held no error. */
  onEnd(): void;
}

/** Reads a stream of server-sent events with JSON in them; all that is one dialect's own is its handler's. */
export class SseDecoder implements StreamDecoder {
  failure: Uint8Array | undefined;
  sawData = false;
  readonly #handler: SseHandler;
  readonly #framer = new SseFramer((event) => this.#take(event));

  constructor(handler: SseHandler) {
    this.#handler = handler;
  }

  push(bytes: Uint8Array): boolean {
    return this.failure !== undefined || this.#framer.push(bytes);
  }

  finish(): void {
    if (this.failure === undefined) this.#framer.finish();
    if (this.failure === undefined) this.#handler.onEnd();
  }

  #take(event: SseEvent): void {
    if (this.failure !== undefined) return;
    if (event.dataLines === 0) this.#takeOther(event);
    else if (event.dataLines === 1) this.#takeData(event, event.bytes, event.dataStart, event.dataEnd);
    else {
      const data = event.joinedData();
      this.#takeData(event, data, 0, data.length);
    }
  }

  /** A server that fails on its way (Google's) may go on with a plain JSON error, as if the stream had never begun. */
  #takeOther(event: SseEvent): void {
    const { bytes, firstLine, end } = event;
    if (isBareJson(event)) this.failure = copyRange(bytes, firstLine, trimEnd(bytes, firstLine, end));
    // Blank lines alone say nothing: a chunk's border within a line end makes one more of them.
    else if (!isLineEnd(bytes[firstLine])) this.#handler.onComment();
  }

  #takeData(event: SseEvent, bytes: Uint8Array, start: number, end: number): void {
    if (event.isNamedError) {
      this.failure = copyRange(bytes, start, end);
      return;
    }
    if (rangeEquals(bytes, start, trimEnd(bytes, start, end), DONE)) {
      this.sawData = true;
      this.#handler.onDone();
      return;
    }
    const data = start === end ? undefined : parseJson(bytes, start, end);
    // What is no object was cut off, or says nothing that could be told in other words.
    if (!isJsonObject(data)) return;
    this.sawData = true;
    if (this.#handler.isError(data)) this.failure = copyRange(bytes, start, end);
    else this.#handler.take(data);
  }
}

function isLineEnd(byte: number | undefined): boolean {
  return byte === 0x0a || byte === 0x0d;
}
