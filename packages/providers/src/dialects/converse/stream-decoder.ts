import { EventStreamFramer } from "../../event-stream/framer.ts";
import { isJsonObject, type JsonObject, parseJson, printJson } from "../../json/lossless.ts";
import { decodeUtf8, encodeUtf8 } from "../../json/text.ts";
import type { EmitEvent } from "../../neutral/events.ts";
import type { StreamDecoder } from "../format.ts";
import { AnswerHandler } from "./decoder.ts";

/** Most of an error's text that is no JSON, bytes. */
const MESSAGE_BYTES = 4096;

/** Reads a stream of `converse-stream`: frames of events, and of exceptions, which end it (BH-17). */
export function openConverseStream(emit: EmitEvent): StreamDecoder {
  return new ConverseStreamDecoder(emit);
}

class ConverseStreamDecoder implements StreamDecoder {
  failure: Uint8Array | undefined;
  sawData = false;
  readonly #handler: AnswerHandler;
  readonly #framer = new EventStreamFramer((headers, bytes, start, end) =>
    this.#take(headers, bytes, start, end),
  );

  constructor(emit: EmitEvent) {
    this.#handler = new AnswerHandler(emit);
  }

  push(bytes: Uint8Array): boolean {
    return this.failure !== undefined || this.#framer.push(bytes);
  }

  finish(): void {
    if (this.failure === undefined) this.#handler.onEnd();
  }

  #take(headers: ReadonlyMap<string, string>, bytes: Uint8Array, start: number, end: number): void {
    if (this.failure !== undefined) return;
    const kind = headers.get(":message-type");
    if (kind === "event") {
      const data = parseJson(bytes, start, end);
      if (!isJsonObject(data)) return;
      this.sawData = true;
      this.#handler.take(headers.get(":event-type") ?? "", data);
    } else if (kind === "exception") {
      this.failure = errorOf(headers.get(":exception-type"), bytes, start, end);
    } else if (kind === "error") {
      const message = headers.get(":error-message");
      this.failure = encodeUtf8(printJson({ message, code: headers.get(":error-code") }));
    }
  }
}

/** The exception as a body that says all by itself: its kind stands in the frame's headers. */
function errorOf(
  code: string | undefined,
  bytes: Uint8Array,
  start: number,
  end: number,
): Uint8Array<ArrayBuffer> {
  const data = parseJson(bytes, start, end);
  const said: JsonObject = isJsonObject(data)
    ? data
    : { message: decodeUtf8(bytes, start, Math.min(end, start + MESSAGE_BYTES)) };
  return encodeUtf8(printJson({ ...said, code }));
}
