import type { Socket } from "node:net";
import {
  contentLength,
  endConnection,
  FAREWELL,
  type Fields,
  type Flushable,
  flushThisTurn,
  Gathered,
  maxHeadBytes,
  parseRequestHead,
  type Part,
  type Patience,
  type RequestHead,
  writeParts,
} from "@switchyard/http1";
import { failure } from "../failure.ts";
import type { Encoded } from "../wire/encode.ts";
import { headerLine } from "../wire/metadata.ts";
import { type OnError, refuse, type Responder, serve } from "./lean-handler.ts";
import type { Route } from "./route.ts";
import type { HeaderSource } from "./server-call.ts";

export interface LeanConnectionOptions {
  routes: ReadonlyMap<string, Route>;
  maxMessageBytes: number;
  patience: Patience;
  onError: OnError;
  /** Gives the socket, with what was read of it, to a server that reads everything. */
  handOver(socket: Socket, seen: Buffer): void;
  onClosed(connection: LeanConnection): void;
}

const roomBytes = 65_536;
const maxPipelined = 1_048_576;
/** In small pieces each read would copy all that waits. */
const maxReadsAhead = 256;

/**
 * One HTTP/1.1 connection as far as it carries nothing but plain calls of hot methods. The first request that is
 * anything else goes, with the whole connection, to node's own server; so this reader need know nothing more.
 */
export class LeanConnection implements Responder, Flushable {
  onDrain: (() => void) | undefined;
  onLeft: (() => void) | undefined;
  readonly #socket: Socket;
  readonly #options: LeanConnectionOptions;
  readonly #onData = (bytes: Buffer): void => this.#read(bytes);
  readonly #onEnd = (): void => this.destroy();
  readonly #onDrained = (): void => {
    this.#socket.setTimeout(0);
    this.#drained();
  };
  readonly #onStalled = (): void => this.destroy();
  readonly #onError = (): void => {};
  readonly #onClose = (): void => this.#close();
  /** When the last answer was complete; this and the next two by `performance.now()`. */
  #idleSince = performance.now();
  /** When the first byte of a request came that is not whole yet, and when the last. */
  #readingSince: number | undefined;
  #readAt = 0;
  #pending: Buffer | undefined;
  #head: { route: Route; fields: Fields } | undefined;
  #body = new Gathered();
  /** Reads that the next requests came in while an answer is under way. */
  #ahead = 0;
  #left = 0;
  #state: "idle" | "answering" | "streaming" = "idle";
  #advancing = false;
  #lastRequest = false;
  #closing = false;
  #gone = false;
  #out: Part[] = [];
  #frames: Part[] = [];
  #frameBytes = 0;
  #full = false;

  /** `last`: its first answer is its last one. */
  constructor(socket: Socket, options: LeanConnectionOptions, last: boolean) {
    this.#socket = socket;
    this.#options = options;
    this.#closing = last;
    socket.setNoDelay(true);
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrained);
    socket.on("timeout", this.#onStalled);
    socket.on("error", this.#onError);
    socket.on("close", this.#onClose);
  }

  /** Whether it waits for its client for too long. */
  overdue(now: number): boolean {
    const { idleMs, headMs, stallMs, requestMs } = this.#options.patience;
    if (this.#busy) return false;
    if (!this.#reading) return now - this.#idleSince > idleMs;
    const waited = now - (this.#readingSince ?? this.#idleSince);
    if (this.#head === undefined) return waited > headMs;
    return waited > requestMs || now - this.#readAt > stallMs;
  }

  destroy(): void {
    this.#socket.destroy();
    this.#close();
  }

  /** Ends once it has answered what it is at, which is at most one more request. */
  drain(): void {
    this.#closing = true;
    if (!this.#busy && !this.#reading) this.retire();
  }

  /** Ends between two answers: what was not answered was not processed, and the client is told so. */
  retire(): void {
    if (this.#gone) return;
    const parts = this.#out;
    this.#out = [];
    if (parts.length > 0) writeParts(this.#socket, parts);
    endConnection(this.#socket, this.#lastRequest ? "" : FAREWELL);
  }

  answer(status: number, contentType: string, fields: Headers | undefined, body: Encoded): void {
    if (this.#gone) return;
    let head = `HTTP/1.1 ${status} ${status === 200 ? "OK" : "Error"}\r\ncontent-type: ${contentType}\r\n`;
    fields?.forEach((value, name) => {
      head += headerLine(name, value);
    });
    this.#out.push(`${head}${this.#connectionField()}content-length: ${body.length}\r\n\r\n`, body.head);
    if (body.tail !== undefined) this.#out.push(body.tail);
    this.#finish();
  }

  open(contentType: string): void {
    if (this.#gone) return;
    this.#state = "streaming";
    this.#out.push(
      `HTTP/1.1 200 OK\r\ncontent-type: ${contentType}\r\n${this.#connectionField()}transfer-encoding: chunked\r\n\r\n`,
    );
    flushThisTurn(this);
  }

  write(parts: readonly Part[], bytes: number): boolean {
    if (this.#gone) return false;
    if (this.#frameBytes === 0) flushThisTurn(this);
    for (const part of parts) this.#frames.push(part);
    this.#frameBytes += bytes;
    this.#full = this.#frameBytes + this.#socket.writableLength > roomBytes;
    return !this.#full;
  }

  end(): void {
    if (this.#gone) return;
    this.#takeFrames();
    this.#out.push("0\r\n\r\n");
    this.#finish();
  }

  flush(): void {
    if (this.#gone) return;
    this.#takeFrames();
    if (!this.#busy && (this.#lastRequest || (this.#closing && !this.#reading))) return this.retire();
    if (this.#out.length === 0) return;
    const parts = this.#out;
    this.#out = [];
    if (writeParts(this.#socket, parts)) this.#drained();
    // Until it has taken what it was given; then there is nothing to wait for.
    else this.#socket.setTimeout(this.#options.patience.stallMs);
  }

  get #busy(): boolean {
    return this.#state !== "idle";
  }

  /** Whether part of a request has come. */
  get #reading(): boolean {
    return this.#pending !== undefined || this.#head !== undefined;
  }

  #connectionField(): string {
    if (!this.#closing && !this.#lastRequest) return "";
    this.#lastRequest = true;
    return "connection: close\r\n";
  }

  #takeFrames(): void {
    if (this.#frameBytes === 0) return;
    this.#out.push(`${this.#frameBytes.toString(16)}\r\n`);
    for (const part of this.#frames) this.#out.push(part);
    this.#out.push("\r\n");
    this.#frames = [];
    this.#frameBytes = 0;
  }

  #drained(): void {
    if (!this.#full || this.#gone) return;
    this.#full = false;
    this.onDrain?.();
  }

  #finish(): void {
    this.#state = "idle";
    this.#full = false;
    this.onDrain = undefined;
    this.onLeft = undefined;
    this.#idleSince = performance.now();
    if (this.#advancing) return;
    flushThisTurn(this);
    this.#advance();
  }

  #read(bytes: Buffer): void {
    if (this.#head !== undefined && this.#left > 0 && bytes.length <= this.#left && !this.#busy) {
      this.#body.push(bytes);
      this.#left -= bytes.length;
    } else this.#pending = this.#pending === undefined ? bytes : Buffer.concat([this.#pending, bytes]);
    if (this.#busy) {
      this.#ahead += 1;
      if ((this.#pending?.length ?? 0) > maxPipelined || this.#ahead > maxReadsAhead) this.#socket.pause();
      return;
    }
    this.#advance();
    if (this.#gone) return;
    if (this.#reading) this.#readAt = performance.now();
    if (this.#reading) this.#readingSince ??= this.#readAt;
    this.flush();
  }

  /** Serves what has come, as long as each answer is there at once. */
  #advance(): void {
    if (this.#advancing) return;
    this.#advancing = true;
    this.#ahead = 0;
    while (!this.#busy && !this.#gone && !this.#lastRequest) {
      if (this.#head === undefined && !this.#readHead()) break;
      if (!this.#readBody()) break;
    }
    this.#advancing = false;
    if (!this.#busy && !this.#gone && this.#socket.isPaused()) this.#socket.resume();
  }

  #readHead(): boolean {
    const data = this.#pending;
    if (data === undefined) return false;
    const end = data.indexOf("\r\n\r\n");
    if (end < 0 && data.length <= maxHeadBytes) return false;
    const head = end < 0 ? undefined : parseRequestHead(data.toString("latin1", 0, end));
    const route = head === undefined ? undefined : this.#routeOf(head);
    if (head === undefined || route === undefined) {
      this.#handOver(data);
      return false;
    }
    this.#head = { route, fields: head.fields };
    this.#left = contentLength(head.fields) as number;
    this.#body = new Gathered(this.#left);
    this.#lastRequest = false;
    this.#pending = end + 4 < data.length ? data.subarray(end + 4) : undefined;
    return true;
  }

  #routeOf({ method, path, fields }: RequestHead): Route | undefined {
    const route = method === "POST" ? this.#options.routes.get(path) : undefined;
    const length = contentLength(fields);
    if (route === undefined || typeof length !== "number") return undefined;
    if (fields.get("content-type") !== route.contentType || fields.count("host") !== 1) return undefined;
    for (const name of fields.names) if (notOurs.has(name)) return undefined;
    return route;
  }

  #readBody(): boolean {
    const { route, fields } = this.#head as { route: Route; fields: Fields };
    const tooLarge = this.#left > this.#options.maxMessageBytes;
    const data = this.#pending;
    if (!tooLarge && data !== undefined && this.#left > 0) {
      const size = Math.min(this.#left, data.length);
      this.#body.push(size === data.length ? data : data.subarray(0, size));
      this.#left -= size;
      this.#pending = size === data.length ? undefined : data.subarray(size);
    }
    if (!tooLarge && this.#left > 0) return false;
    const body = this.#body.take();
    this.#head = undefined;
    this.#readingSince = undefined;
    this.#state = "answering";
    if (tooLarge) {
      // The rest of the body is not read, so nothing can follow it.
      this.#pending = undefined;
      this.#lastRequest = true;
      refuse(route, this, failure("request_too_large", "the request is too large", { status: 413 }));
    } else serve(route, new FieldsSource(fields), body, this, this.#options.onError);
    return true;
  }

  #handOver(seen: Buffer): void {
    this.flush();
    this.#gone = true;
    this.#pending = undefined;
    const socket = this.#socket;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrained);
    socket.off("timeout", this.#onStalled);
    socket.setTimeout(0);
    socket.off("error", this.#onError);
    socket.off("close", this.#onClose);
    this.#options.onClosed(this);
    this.#options.handOver(socket, seen);
  }

  #close(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#pending = undefined;
    this.#body.clear();
    this.#out = [];
    this.#frames = [];
    this.#options.onClosed(this);
    this.onLeft?.();
  }
}

/** Fields that ask for something this reader does not do, or that end the connection. */
const notOurs = new Set([
  "transfer-encoding",
  "expect",
  "upgrade",
  "content-encoding",
  "connect-content-encoding",
  "connection",
  "trailer",
]);

class FieldsSource implements HeaderSource {
  readonly #fields: Fields;

  constructor(fields: Fields) {
    this.#fields = fields;
  }

  get(name: string): string | undefined {
    return this.#fields.get(name);
  }

  each(visit: (name: string, value: string) => void): void {
    const { names, values } = this.#fields;
    for (let i = 0; i < names.length; i += 1) visit(names[i] as string, values[i] as string);
  }
}
