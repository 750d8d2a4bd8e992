import type { Socket } from "node:net";
import { endConnection } from "@switchyard/http1";
import type { Exchange } from "./exchange.ts";
import { FastWriter, type FastWriterOwner } from "./fast-writer.ts";
import type { ServerLimits } from "./limits.ts";
import { MAX_PLAIN_HEAD, mayBecomePlain, type PlainRequest, readPlainRequest } from "./plain-request.ts";
import type { RequestSource, ResponseWriter } from "./ports.ts";

/** What all connections of the fast lane share. */
export interface FastConnectionHost {
  readonly maxBodyBytes: number;
  readonly limits: ServerLimits;
  readonly nativePaths: () => ReadonlySet<string>;
  /** Begins the exchange; it attaches itself to `source`. */
  serve(source: RequestSource, writer: ResponseWriter, request: PlainRequest): void;
  /** Gives the socket, with what was read of it and not answered, to node:http. */
  handOver(socket: Socket, seen: Buffer): void;
  /** A request that ends too soon or comes too slowly; `code` as node's parser and server have it. */
  broken(code: string, socket: Socket, open: Exchange | undefined): void;
  onLeft(connection: FastConnection): void;
}

/** A header block comes in one read, rarely in two; what comes in more is node:http's, which reads on where it stopped. */
const MAX_HEAD_READS = 4;
/** As much of the next requests is held while an answer is under way, bytes. */
const MAX_HELD = 1024 * 1024;
/** However small they are: each read costs more memory than its bytes. */
const MAX_HELD_READS = 256;
/** Beyond what the `Keep-Alive` header tells: a request that is on its way at the end still finds the socket open. */
export const KEEP_ALIVE_BUFFER_MS = 5000;

const HEAD_END = Buffer.from("\r\n\r\n");
const LF = 10;
const CR = 13;

/**
 * A connection as far as it carries plain requests, one at a time. The first that is anything else goes, with the whole
 * connection and the bytes seen, to node:http; so this reader need know nothing of what it does not serve.
 */
export class FastConnection implements RequestSource, FastWriterOwner {
  readonly socket: Socket;
  readonly #host: FastConnectionHost;
  readonly #writer: FastWriter;
  readonly #onData = (bytes: Buffer): void => this.#read(bytes);
  readonly #onEnd = (): void => this.#end();
  readonly #onDrain = (): void => this.#exchange?.answer.drained();
  readonly #onTimeout = (): void => this.#stalled();
  readonly #onClose = (): void => this.#leave();
  /** The request under way: its body is not all here, or its answer not all out. */
  #exchange: Exchange | undefined;
  #answered = false;
  #bodyLeft = 0;
  #held: Buffer[] = [];
  #heldBytes = 0;
  #headReads = 0;
  #fresh = true;
  /** When the present wait began, ms of `performance.now()`: for a request, the rest of its head, or the rest of its body. */
  #since = performance.now();

  constructor(socket: Socket, host: FastConnectionHost) {
    this.socket = socket;
    this.#host = host;
    this.#writer = new FastWriter(socket, this, Math.floor(host.limits.keepAliveTimeoutMs / 1000));
    socket.setTimeout(host.limits.stallTimeoutMs);
    socket.on("data", this.#onData);
    socket.on("end", this.#onEnd);
    socket.on("drain", this.#onDrain);
    socket.on("timeout", this.#onTimeout);
    socket.on("error", ignore);
    socket.on("close", this.#onClose);
  }

  get complete(): boolean {
    return this.#bodyLeft === 0;
  }

  attach(exchange: Exchange): void {
    this.#exchange = exchange;
  }

  /** The exchange gets all pieces anyway. */
  readBody(): void {}

  /** Bounds each wait; called every now and then. `sweptAt`: the time of the last call. */
  sweep(now: number, sweptAt: number): void {
    // It has had its last words, which may have said that nothing more is served.
    if (!this.socket.writable) return;
    const { limits } = this.#host;
    const waited = now - this.#since;
    if (this.#exchange !== undefined) {
      if (this.#bodyLeft > 0 && waited > limits.requestTimeoutMs) this.#break("ERR_HTTP_REQUEST_TIMEOUT");
    } else if (this.#heldBytes > 0) {
      // Node's parser refuses at the first wrong byte, where this reader waits for a line's end.
      if (this.#since < sweptAt) this.#handOver();
    } else if (this.#fresh) {
      if (waited > limits.headersTimeoutMs) this.#break("ERR_HTTP_REQUEST_TIMEOUT");
    } else if (waited > limits.keepAliveTimeoutMs + KEEP_ALIVE_BUFFER_MS) this.socket.destroy();
  }

  onAnswered(): void {
    const exchange = this.#exchange;
    if (exchange === undefined || this.#answered) return;
    this.#answered = true;
    exchange.onClose();
    if (this.#writer.closes) endConnection(this.socket);
    else if (this.#bodyLeft === 0) this.#next();
  }

  #read(bytes: Buffer): void {
    if (!this.socket.writable) return;
    const exchange = this.#exchange;
    if (exchange === undefined) {
      this.#hold(bytes);
      this.#readHead();
    } else if (this.#bodyLeft === 0) this.#holdWhileBusy(bytes);
    else this.#readBody(exchange, bytes);
  }

  #readBody(exchange: Exchange, bytes: Buffer): void {
    const rest = bytes.length - this.#bodyLeft;
    if (rest < 0) {
      this.#bodyLeft -= bytes.length;
      exchange.onData(bytes);
      return;
    }
    const piece = rest === 0 ? bytes : bytes.subarray(0, this.#bodyLeft);
    this.#bodyLeft = 0;
    if (rest > 0) this.#holdWhileBusy(bytes.subarray(piece.length));
    exchange.onData(piece);
    exchange.onEnd();
    if (this.#answered) this.#next();
  }

  #readHead(): void {
    const bytes = this.#takeHeld();
    const end = bytes.indexOf(HEAD_END);
    if (end === -1) {
      this.#hold(bytes);
      this.#waitForHead(bytes);
      return;
    }
    const { maxBodyBytes, nativePaths } = this.#host;
    const request =
      end > MAX_PLAIN_HEAD
        ? undefined
        : readPlainRequest(bytes.toString("latin1", 0, end), maxBodyBytes, nativePaths);
    const start = end + HEAD_END.length;
    const length = request?.head.contentLength ?? 0;
    // Requests that come together may be answered side by side, which node:http does.
    if (request === undefined || bytes.length - start > length) {
      this.#hold(bytes);
      this.#handOver();
      return;
    }
    this.#headReads = 0;
    this.#fresh = false;
    this.#answered = false;
    this.#bodyLeft = length;
    this.#since = performance.now();
    this.#writer.begin(request.method === "HEAD");
    this.#host.serve(this, this.#writer, request);
    const exchange = this.#exchange;
    if (exchange !== undefined && bytes.length > start) this.#readBody(exchange, bytes.subarray(start));
  }

  #waitForHead(bytes: Buffer): void {
    if (this.#headReads === 0) this.#since = performance.now();
    this.#headReads += 1;
    if (this.#headReads === MAX_HEAD_READS || bytes.length > MAX_PLAIN_HEAD || !mayGoOn(bytes)) {
      this.#handOver();
    }
  }

  #next(): void {
    this.#exchange = undefined;
    if (!this.socket.writable) return;
    this.#since = performance.now();
    if (this.socket.isPaused()) this.socket.resume();
    if (this.#heldBytes > 0) this.#readHead();
  }

  #hold(bytes: Buffer): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #holdWhileBusy(bytes: Buffer): void {
    this.#hold(bytes);
    if (this.#heldBytes > MAX_HELD || this.#held.length > MAX_HELD_READS) this.socket.pause();
  }

  #takeHeld(): Buffer {
    const held = this.#held;
    const bytes = held.length === 1 ? (held[0] as Buffer) : Buffer.concat(held, this.#heldBytes);
    this.#held = [];
    this.#heldBytes = 0;
    return bytes;
  }

  #handOver(): void {
    const { socket } = this;
    socket.off("data", this.#onData);
    socket.off("end", this.#onEnd);
    socket.off("drain", this.#onDrain);
    socket.off("timeout", this.#onTimeout);
    socket.off("error", ignore);
    socket.off("close", this.#onClose);
    const seen = this.#takeHeld();
    this.#host.onLeft(this);
    this.#host.handOver(socket, seen);
  }

  #end(): void {
    const midway = this.#exchange === undefined ? this.#heldBytes > 0 : this.#bodyLeft > 0;
    if (midway) this.#break("HPE_INVALID_EOF_STATE");
    else this.socket.end();
  }

  #break(code: string): void {
    this.#host.broken(code, this.socket, this.#answered ? undefined : this.#exchange);
  }

  #stalled(): void {
    if (this.#exchange === undefined || this.#answered) this.socket.destroy();
    else this.#exchange.onTimeout();
  }

  #leave(): void {
    this.#held = [];
    this.#heldBytes = 0;
    this.#host.onLeft(this);
    this.#exchange?.onClose();
    this.#exchange = undefined;
  }
}

/** Nothing in the whole lines so far is wrong: no bare LF, no line that is no header. */
function mayGoOn(bytes: Buffer): boolean {
  let end = 0;
  for (let at = bytes.indexOf(LF); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at - 1] !== CR) return false;
    end = at - 1;
  }
  return mayBecomePlain(bytes.toString("latin1", 0, end));
}

/** `close` follows. */
function ignore(): void {}
