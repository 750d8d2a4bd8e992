import type { Rostered } from "@switchyard/http1";
import {
  type Fields,
  type Part,
  ResponseReader,
  type ResponseHead,
  type ResponseSink,
  writeParts,
} from "@switchyard/http1";
import type { OpenSocket } from "./connect.ts";
import { codeOf } from "./errors.ts";
import type { RequestBody } from "./types.ts";

const MAX_HEAD_BYTES = 64 * 1024;

/** Taken off a provider's `Keep-Alive: timeout`, so that we close first. */
const KEEP_ALIVE_MARGIN_MS = 500;

/** Hears that an idle connection is gone. */
export interface ConnectionOwner {
  onIdleClosed(connection: Connection): void;
}

/** Whose request a connection carries. Told one of `onResponseEnd` and `onResponseError`, unless it destroyed it. */
export interface ConnectionUser {
  onResponseHead(status: number, fields: Fields): void;
  /** The chunk is the receiver's to keep. */
  onResponseData(chunk: Uint8Array): void;
  /** The connection is already free for another request, if it is `usable`. */
  onResponseEnd(): void;
  onResponseError(code: string | undefined): void;
}

/**
 * One socket that speaks HTTP/1.1 and is never opened again: who holds a connection knows whether its socket was used
 * before, which the replay of invariant 7 turns on.
 */
export class Connection implements ResponseSink, Rostered {
  place = -1;
  readonly #open: OpenSocket;
  readonly #owner: ConnectionOwner;
  readonly #keepAliveMs: number;
  readonly #reader = new ResponseReader(this, MAX_HEAD_BYTES);
  #user: ConnectionUser | null = null;
  #served = 0;
  #idle = false;
  #reading = false;
  /** Whether what is being read lies in a buffer that the next read writes over. */
  #sharedRead = false;
  /** Read while held, and not looked at yet. */
  #rest: Buffer | null = null;
  /** What ends it when it is left idle; armed once and moved on, as every rest but the last is cut short. */
  #restTimer: NodeJS.Timeout | null = null;
  #restMs = 0;
  #errorCode: string | undefined;
  /** The provider has closed its side. */
  #ended = false;

  constructor(open: OpenSocket, keepAliveMs: number, owner: ConnectionOwner) {
    this.#open = open;
    this.#keepAliveMs = keepAliveMs;
    this.#owner = owner;
    open.receiver = this;
    open.socket.on("end", () => this.#onEof());
    open.socket.on("error", (error) => {
      this.#errorCode = codeOf(error);
    });
    open.socket.once("close", () => this.#onClose());
  }

  /** Whether the socket carried an exchange before the present one. */
  get reused(): boolean {
    return this.#served > 1;
  }

  /** Whether any byte came back since the last request. */
  get byteSeen(): boolean {
    return this.#reader.byteSeen;
  }

  /** Whether another request may go out: still open, the last answer over, and nothing of its request left to send. */
  get usable(): boolean {
    const { socket } = this.#open;
    const kept = this.#reader.reusable && this.#reader.keepAliveMs > KEEP_ALIVE_MARGIN_MS;
    return kept && !this.#ended && !socket.destroyed && socket.writableLength === 0;
  }

  /** `head` is whole, with its closing empty line. Nothing is called within this call. */
  send(head: string, body: RequestBody, bodyless: boolean, user: ConnectionUser): void {
    this.#idle = false;
    this.#served += 1;
    this.#user = user;
    this.#reader.expect(bodyless);
    writeParts(this.#open.socket, partsOf(head, body));
  }

  /** Nobody holds the connection now; it closes when nobody wants it for long. */
  rest(): void {
    this.#idle = true;
    const ms = Math.min(this.#keepAliveMs, this.#reader.keepAliveMs - KEEP_ALIVE_MARGIN_MS);
    if (this.#restTimer !== null && ms === this.#restMs) {
      this.#restTimer.refresh();
      return;
    }
    if (this.#restTimer !== null) {
      clearTimeout(this.#restTimer);
    }
    this.#restMs = ms;
    this.#restTimer = setTimeout(onRestOver, Math.max(1, ms), this).unref();
  }

  closeIfIdle(): void {
    if (this.#idle) {
      this.#open.socket.destroy();
    }
  }

  /** Stops reading; what was read and not yet handed over is kept. */
  pause(): void {
    this.#reader.held = true;
    this.#open.socket.pause();
  }

  resume(): void {
    this.#reader.held = false;
    this.#open.socket.resume();
    if (this.#rest !== null && !this.#reading) {
      queueMicrotask(() => this.#readRest());
    }
  }

  /** Closes the socket now, whatever runs on it; its user hears nothing more. */
  destroy(): void {
    this.#idle = false;
    this.#user = null;
    this.#rest = null;
    this.#reader.stop();
    this.#open.socket.destroy();
  }

  /** Resolves once the socket is closed. */
  whenClosed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#open.socket.closed) {
        resolve();
      } else {
        this.#open.socket.once("close", () => resolve());
      }
    });
  }

  /** The first `size` of these bytes came from the socket; `shared` when the buffer is not ours to keep. */
  onBytes(bytes: Buffer, size: number, shared: boolean): void {
    if (this.#user === null) {
      // Nobody asked: whatever it is, the next request's answer could not be told from it.
      this.#open.socket.destroy();
    } else if (this.#rest === null) {
      this.#read(bytes, size, shared);
    } else {
      this.#rest = Buffer.concat([this.#rest, bytes.subarray(0, size)]);
      this.#readRest();
    }
  }

  // --- the reader's sink

  onHead(head: ResponseHead): void {
    this.#user?.onResponseHead(head.status, head.fields);
  }

  onBody(bytes: Buffer, start: number, end: number): void {
    this.#user?.onResponseData(this.#sharedRead ? copyOf(bytes, start, end) : bytes.subarray(start, end));
  }

  onEnd(): void {
    const user = this.#user;
    this.#user = null;
    if (this.#open.socket.isPaused()) {
      this.#open.socket.resume();
    }
    user?.onResponseEnd();
  }

  #read(bytes: Buffer, size: number, shared: boolean): void {
    this.#reading = true;
    this.#sharedRead = shared;
    const used = this.#reader.push(bytes, size);
    this.#reading = false;
    if (used < 0) {
      this.#fail(this.#reader.fault);
    } else if (used < size && this.#user !== null) {
      this.#rest = shared ? copyOf(bytes, used, size) : bytes.subarray(used, size);
    }
  }

  #readRest(): void {
    const rest = this.#rest;
    if (rest !== null && !this.#reader.held) {
      this.#rest = null;
      this.#read(rest, rest.length, false);
      if (this.#ended) {
        this.#onEof();
      }
    }
  }

  #onEof(): void {
    this.#ended = true;
    if (this.#rest === null) {
      if (this.#user !== null && !this.#reader.close()) {
        this.#fail(this.#reader.fault);
      }
      this.#open.socket.destroy();
    }
  }

  #onClose(): void {
    if (this.#restTimer !== null) {
      clearTimeout(this.#restTimer);
    }
    if (this.#idle) {
      this.#owner.onIdleClosed(this);
    } else if (this.#rest === null || !this.#ended) {
      this.#fail(this.#errorCode);
    }
  }

  #fail(code: string | undefined): void {
    const user = this.#user;
    this.#user = null;
    this.#reader.stop();
    user?.onResponseError(code);
  }
}

function onRestOver(connection: Connection): void {
  connection.closeIfIdle();
}

function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}

function partsOf(head: string, body: RequestBody): Part[] {
  if (body === null) {
    return [head];
  }
  return body instanceof Uint8Array ? [head, body] : [head, ...body];
}
