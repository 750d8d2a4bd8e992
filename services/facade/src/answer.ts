import type { Head, InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import { type ConnectError, readFailure, type Sink } from "@switchyard/rpc";
import type { ResponseWriter } from "./ports.ts";
import { errorBody, errorEvent, errorHeaders, type Refusal, refusal } from "./refusal.ts";
import { type ResponseHead, readResponseHead } from "./response-head.ts";
import type { Face } from "./routes.ts";

/** As much as may wait within one turn before the producer is told to pause, bytes. */
const HIGH_WATER = 64 * 1024;

const NO_PIECES: readonly Uint8Array[] = [];
const NO_ANSWER = refusal(500, "internal_error", "internal error");
const BAD_HEAD = refusal(502, "upstream_invalid_response", "the answer's head cannot be passed on");

/**
 * Writes one answer. What comes within one turn of the event loop goes out together right after it, never later
 * (invariant 6): a whole answer in one turn gets its `Content-Length` so. Backpressure of the socket reaches the producer.
 */
export class Answer implements Sink<InferResponse> {
  readonly #writer: ResponseWriter;
  readonly #face: Face;
  readonly #requestId: string;
  readonly #noBody: boolean;
  #state: "open" | "ending" | "over" = "open";
  #head: Head | undefined;
  #sentHead: ResponseHead | undefined;
  /** Bytes that a told `Content-Length` still owes; undefined: none was told. */
  #owedBytes: number | undefined;
  #pieces: Uint8Array[] = [];
  #waiting = 0;
  #scheduled = false;
  #last: Uint8Array | undefined;
  #drain: (() => void) | undefined;
  #owesDrain = false;
  #toldLast = false;
  /** The connection ends after this answer, and the answer says so. */
  lastOnConnection = false;

  constructor(writer: ResponseWriter, face: Face, requestId: string, noBody: boolean) {
    this.#writer = writer;
    this.#face = face;
    this.#requestId = requestId;
    this.#noBody = noBody;
  }

  /** A byte of this answer may have reached the caller. */
  get started(): boolean {
    return this.#writer.headersSent;
  }

  /** Its caller was told that the connection ends after it. */
  get toldLast(): boolean {
    return this.#toldLast;
  }

  /** Nothing more is taken: the answer was completed, cut or abandoned. */
  get over(): boolean {
    return this.#state !== "open";
  }

  send(message: InferResponse): boolean {
    if (this.#state !== "open") return false;
    const { part } = message;
    if (part.case === "chunk") {
      if (part.value.length === 0) return !this.#writer.writableNeedDrain;
      this.#pieces.push(part.value);
      this.#waiting += part.value.length;
    } else if (part.case === "head") this.#head ??= part.value;
    else return true;
    this.#schedule();
    if (this.#waiting < HIGH_WATER && !this.#writer.writableNeedDrain) return true;
    this.#owesDrain = true;
    return false;
  }

  end(): void {
    if (this.#state !== "open") return;
    if (this.#head === undefined) {
      this.refuse(NO_ANSWER);
      return;
    }
    this.#state = "ending";
    this.#schedule();
  }

  fail(error: ConnectError): void {
    this.refuse(readFailure(error));
  }

  onDrain(listener: () => void): void {
    this.#drain = listener;
  }

  /** Answers with an error: as a whole answer, as a last event, or where neither can be, by cutting the connection. */
  refuse(cause: Refusal): void {
    if (this.#state !== "open") return;
    const head = this.#readHead();
    if (head !== undefined && head.eventStream && !this.#noBody) {
      const sent = this.#pieces.at(-1) ?? this.#last;
      const event = errorEvent(this.#face, cause, this.#requestId, sent);
      this.#pieces.push(event);
      this.#waiting += event.length;
      this.#state = "ending";
      this.#schedule();
      return;
    }
    this.#state = "over";
    this.#drop();
    if (this.started) this.#writer.destroy();
    else this.#writeError(cause);
  }

  /** The caller left. */
  abandon(): void {
    this.#state = "over";
    this.#drop();
    this.#drain = undefined;
  }

  /** The socket took what it was given. */
  drained(): void {
    if (!this.#owesDrain || this.#state !== "open" || this.#writer.writableNeedDrain) return;
    this.#owesDrain = false;
    this.#drain?.();
  }

  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    process.nextTick(flush, this);
  }

  /** For `flush` only. */
  runFlush(): void {
    this.#scheduled = false;
    if (this.#state === "over" || this.#head === undefined) return;
    const ending = this.#state === "ending";
    if (!this.started && !this.#writeHead(ending)) return;
    if (this.#noBodyNow()) this.#drop();
    if (this.#waiting > 0) {
      if (!this.#writePieces(ending)) return;
    } else if (!ending) this.#writer.flushHeaders();
    if (ending) this.#finish();
    else this.drained();
  }

  #readHead(): ResponseHead | undefined {
    if (this.#sentHead === undefined && this.#head !== undefined) {
      this.#sentHead = readResponseHead(this.#head, this.#face, this.#requestId);
    }
    return this.#sentHead;
  }

  #noBodyNow(): boolean {
    const status = this.#sentHead?.status;
    return this.#noBody || status === 204 || status === 304;
  }

  #writeHead(whole: boolean): boolean {
    const head = this.#readHead();
    if (head === undefined) {
      this.#state = "over";
      this.#drop();
      this.#writeError(BAD_HEAD);
      return false;
    }
    const { headers } = head;
    let length = head.contentLength;
    if (this.#noBodyNow()) {
      if (head.status === 204) length = undefined;
    } else if (whole) length = this.#waiting;
    else if (head.eventStream) length = undefined;
    if (length !== undefined) headers.push("content-length", String(length));
    if (!this.#noBodyNow()) this.#owedBytes = length;
    this.#toldLast = this.lastOnConnection;
    if (this.#toldLast) headers.push("connection", "close");
    if (this.#writer.putHead(head.status, headers)) return true;
    // Between processes text is Unicode: a value may hold what a header cannot.
    this.#state = "over";
    this.#drop();
    this.#writeError(BAD_HEAD);
    return false;
  }

  #writePieces(ending: boolean): boolean {
    const pieces = this.#pieces;
    const size = this.#waiting;
    if (this.#owedBytes !== undefined) {
      if (size > this.#owedBytes) {
        this.#cut();
        return false;
      }
      this.#owedBytes -= size;
    }
    this.#pieces = [];
    this.#waiting = 0;
    this.#last = pieces.at(-1);
    if (ending && this.#complete()) {
      this.#state = "over";
      this.#writer.finish(pieces, size);
      return false;
    }
    this.#writer.put(pieces, size);
    return true;
  }

  #complete(): boolean {
    return this.#owedBytes === undefined || this.#owedBytes === 0;
  }

  #finish(): void {
    if (!this.#complete()) {
      this.#cut();
      return;
    }
    this.#state = "over";
    this.#writer.finish(NO_PIECES, 0);
  }

  #cut(): void {
    this.#state = "over";
    this.#drop();
    this.#writer.destroy();
  }

  #writeError(cause: Refusal): void {
    const body = errorBody(this.#face, cause, this.#requestId);
    const headers = ["x-request-id", this.#requestId];
    if (this.#face === "anthropic") headers.push("request-id", this.#requestId);
    headers.push("content-length", String(body.length));
    this.#toldLast = this.lastOnConnection;
    if (this.#toldLast) headers.push("connection", "close");
    const writer = this.#writer;
    if (!writer.putHead(cause.status, [...headers, ...errorHeaders(cause)])) {
      writer.putHead(cause.status, [...headers, "content-type", "application/json"]);
    }
    writer.finish([body], body.length);
  }

  #drop(): void {
    this.#pieces = [];
    this.#waiting = 0;
  }
}

function flush(answer: Answer): void {
  answer.runFlush();
}
