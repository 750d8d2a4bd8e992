import { ChunkedDecoder } from "./chunked.ts";
import { framingOf, hasToken } from "./framing.ts";
import { parseResponseHead, type ResponseHead } from "./head.ts";

/** Hears one response. Any call may stop the reader, or have it hold. */
export interface ResponseSink {
  onHead(head: ResponseHead): void;
  /** Bytes of the body without its framing, `start` to `end`, valid during the call. */
  onBody(bytes: Buffer, start: number, end: number): void;
  /** The response is whole; whether the connection may carry another is `reusable`. */
  onEnd(): void;
}

/** Why a response could not be read. */
export type ResponseFault = "HEAD_TOO_LARGE" | "MALFORMED_RESPONSE" | "CLOSED_EARLY";

type State = "idle" | "head" | "length" | "chunked" | "close";

const headEnd = Buffer.from("\r\n\r\n");
const firstPartial = 2048;

/**
 * Reads the responses on one connection, a request at a time, from bytes cut anywhere. Strict where leniency would
 * let two readers see different messages (RFC 9112, sections 2.2, 5, 6.3, 7.1): conflicting, repeated or odd lengths,
 * a length beside a transfer coding, codings other than `chunked`, bare CR or LF, NUL, folded lines are refused.
 */
export class ResponseReader {
  /** Set to have it stop reading at the next step; what is left of the bytes is then not read. */
  held = false;
  /** Whether a byte came since `expect`. */
  byteSeen = false;
  /** Whether the connection may carry another request, once the response has ended. */
  reusable = false;
  /** How long the server says it keeps an idle connection, in milliseconds. */
  keepAliveMs = Number.POSITIVE_INFINITY;
  fault: ResponseFault | undefined;
  readonly #sink: ResponseSink;
  readonly #maxHeadBytes: number;
  #state: State = "idle";
  #bodyless = false;
  #last = false;
  #left = 0;
  /** Of all interim heads and the final one. */
  #headBytes = 0;
  #partial: Buffer | undefined;
  #partialBytes = 0;
  #hint: string | undefined;
  #chunked: ChunkedDecoder | undefined;

  constructor(sink: ResponseSink, maxHeadBytes: number) {
    this.#sink = sink;
    this.#maxHeadBytes = maxHeadBytes;
  }

  /** A request goes out; the next bytes are its response's. `bodyless`: it was a HEAD request. */
  expect(bodyless: boolean): void {
    this.#state = "head";
    this.#bodyless = bodyless;
    this.#headBytes = 0;
    this.#partial = undefined;
    this.held = false;
    this.byteSeen = false;
    this.reusable = false;
  }

  /** Nothing is reported any more. */
  stop(): void {
    this.#state = "idle";
    this.reusable = false;
    this.#partial = undefined;
  }

  /**
   * Reads the first `size` bytes and says how many it took: all, unless it is held or the response ended. It may move
   * bytes within the buffer. -1: `fault` says why; what came before is handed over.
   */
  push(bytes: Buffer, size: number): number {
    if (size > 0) this.byteSeen = true;
    let at = 0;
    while (at < size && !this.held && at >= 0) {
      switch (this.#state) {
        case "head":
          at = this.#readHead(bytes, at, size);
          break;
        case "length":
          at = this.#readLength(bytes, at, size);
          break;
        case "chunked":
          at = this.#readChunked(bytes, at, size);
          break;
        case "close":
          this.#sink.onBody(bytes, at, size);
          return size;
        case "idle":
          return at;
      }
    }
    return at;
  }

  /** The connection ended. False: in the middle of a response, and `fault` says so. */
  close(): boolean {
    if (this.#state === "close") this.#end(false);
    else if (this.#state !== "idle") {
      this.#refuse("CLOSED_EARLY");
      return false;
    }
    return true;
  }

  #readLength(bytes: Buffer, at: number, size: number): number {
    const end = Math.min(size, at + this.#left);
    this.#left -= end - at;
    this.#sink.onBody(bytes, at, end);
    if (this.#left === 0 && this.#state === "length") this.#end(end < size);
    return end;
  }

  #readChunked(bytes: Buffer, at: number, size: number): number {
    const decoder = this.#chunked as ChunkedDecoder;
    const end = decoder.take(bytes, at, size);
    if (decoder.to > decoder.from) this.#sink.onBody(bytes, decoder.from, decoder.to);
    if (this.#state !== "chunked") return size;
    if (end < 0) return this.#refuse("MALFORMED_RESPONSE");
    if (decoder.done) this.#end(end < size);
    return end;
  }

  #readHead(bytes: Buffer, at: number, size: number): number {
    if (this.#partial !== undefined) return this.#readPartial(bytes, at, size);
    const end = bytes.indexOf(headEnd, at);
    // What lies behind `size` is of an earlier read.
    if (end < 0 || end + headEnd.length > size) return this.#keepPartial(bytes, at, size);
    if (!this.#roomFor(end + headEnd.length - at)) return this.#refuse("HEAD_TOO_LARGE");
    return this.#takeHead(bytes.toString("latin1", at, end), end + headEnd.length, size);
  }

  #keepPartial(bytes: Buffer, at: number, size: number): number {
    const length = size - at;
    if (this.#headBytes + length > this.#maxHeadBytes) return this.#refuse("HEAD_TOO_LARGE");
    this.#partial = Buffer.allocUnsafe(Math.max(firstPartial, length * 2));
    this.#partialBytes = bytes.copy(this.#partial, 0, at, size);
    return size;
  }

  #readPartial(bytes: Buffer, at: number, size: number): number {
    const before = this.#partialBytes;
    const room = this.#maxHeadBytes - this.#headBytes - before;
    const length = Math.min(size - at, room);
    const partial = this.#grown(before + length);
    this.#partialBytes += bytes.copy(partial, before, at, at + length);
    const from = Math.max(0, before - headEnd.length + 1);
    const end = partial.subarray(0, this.#partialBytes).indexOf(headEnd, from);
    if (end < 0) return length < size - at ? this.#refuse("HEAD_TOO_LARGE") : size;
    this.#partial = undefined;
    this.#headBytes += end + headEnd.length;
    return this.#takeHead(partial.toString("latin1", 0, end), at + end + headEnd.length - before, size);
  }

  #grown(length: number): Buffer {
    const partial = this.#partial as Buffer;
    if (length <= partial.length) return partial;
    const larger = Buffer.allocUnsafe(length * 2);
    partial.copy(larger, 0, 0, this.#partialBytes);
    this.#partial = larger;
    return larger;
  }

  #roomFor(bytes: number): boolean {
    this.#headBytes += bytes;
    return this.#headBytes <= this.#maxHeadBytes;
  }

  #takeHead(text: string, next: number, size: number): number {
    const head = parseResponseHead(text);
    if (head === undefined || head.status === 101) return this.#refuse("MALFORMED_RESPONSE");
    if (head.status < 200) return next;
    if (!this.#frame(head)) return this.#refuse("MALFORMED_RESPONSE");
    this.#sink.onHead(head);
    if (this.#state === "length" && this.#left === 0) this.#end(next < size);
    return next;
  }

  /** RFC 9112, section 6.3. */
  #frame({ fields, status, minor }: ResponseHead): boolean {
    const { length, coding, connection, keepAlive } = framingOf(fields);
    if (
      length === "bad" ||
      coding === "bad" ||
      (coding !== undefined && (length !== undefined || minor === 0))
    ) {
      return false;
    }
    this.#last = minor === 1 ? hasToken(connection, "close") : !hasToken(connection, "keep-alive");
    this.#readHint(keepAlive);
    if (status === 204 || status === 304 || this.#bodyless) {
      // A 204 that announces a body may be followed by one.
      if (status === 204 && (coding !== undefined || (length ?? 0) > 0)) this.#last = true;
      this.#state = "length";
      this.#left = 0;
    } else if (coding !== undefined) {
      this.#state = "chunked";
      this.#chunked = new ChunkedDecoder();
    } else if (length === undefined) {
      this.#state = "close";
    } else {
      this.#state = "length";
      this.#left = length;
    }
    return true;
  }

  #readHint(value: string | undefined): void {
    if (value === this.#hint) return;
    this.#hint = value;
    const found = value === undefined ? null : /(?:^|[,\s])timeout=(\d{1,6})/i.exec(value);
    this.keepAliveMs = found === null ? Number.POSITIVE_INFINITY : Number(found[1]) * 1000;
  }

  /** `more`: bytes that nobody asked for follow, so nothing that comes on this connection can be trusted. */
  #end(more: boolean): void {
    this.reusable = this.#state !== "close" && !this.#last && !more;
    this.#state = "idle";
    this.#sink.onEnd();
  }

  #refuse(fault: ResponseFault): -1 {
    this.fault = fault;
    this.stop();
    return -1;
  }
}
