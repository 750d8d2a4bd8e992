import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

import { within } from "./within.ts";
import { type HeaderPair, headerOf, type WireHead, WireReader } from "./wire-reader.ts";

/** One answer as it stood on the wire. `body` is without chunk framing but still in its content coding. */
export interface RawResponse {
  readonly status: number;
  readonly statusLine: string;
  readonly headers: readonly HeaderPair[];
  readonly body: Buffer;
  readonly trailers: readonly HeaderPair[];
  /** False if the connection closed before the answer's end. */
  readonly complete: boolean;
  /** Status codes of 1xx answers that came before it. */
  readonly interim: readonly number[];
  header(name: string): string | undefined;
}

export interface RawHttpOptions {
  /** Milliseconds between the pieces of a request. Default 5. */
  readonly gapMs?: number;
  /** Most bytes taken from the kernel at a time. Node cannot set SO_RCVBUF; the kernel's own buffer comes on top. */
  readonly receiveBuffer?: number;
  /** Stop reading as soon as the first head is in (BH-42); `resume()` reads on. */
  readonly pauseAfterHead?: boolean;
  /** Sees each piece of body as it comes. */
  readonly onBody?: (chunk: Buffer) => void;
  /** False drops body bytes after `onBody`, for very long streams. Default true. */
  readonly keepBody?: boolean;
  /** The request's method is HEAD. */
  readonly head?: boolean;
  readonly host?: string;
}

type Pieces = string | Uint8Array | readonly (string | Uint8Array)[];

const DEFAULT_WAIT_MS = 5000;

class Incoming {
  readonly head = Promise.withResolvers<WireHead>();
  readonly end = Promise.withResolvers<void>();
  readonly body: Buffer[] = [];
  readonly interim: number[] = [];
  trailers: readonly HeaderPair[] = [];
  started = false;
  complete = false;

  constructor() {
    // A test that asks only later must still get the error, and no unhandled rejection meanwhile.
    this.head.promise.catch(() => undefined);
    this.end.promise.catch(() => undefined);
  }
}

/** A client on a bare socket: sends bytes as told and keeps answers as they came. */
export class RawHttpClient {
  readonly #socket: Socket;
  readonly #options: RawHttpOptions;
  readonly #reader: WireReader;
  readonly #answers: Incoming[] = [new Incoming()];
  readonly #closed = Promise.withResolvers<"end" | "error">();
  #next = 0;
  #informational = false;
  #failed = false;
  /** Bytes read so far, heads and framing included. */
  received = 0;

  constructor(port: number, options: RawHttpOptions) {
    this.#options = options;
    this.#reader = new WireReader("response", {
      onHead: (head) => this.#onHead(head),
      onBody: (chunk) => this.#onBody(chunk),
      onEnd: (trailers) => this.#onEnd(trailers),
    });
    const buffer = Buffer.alloc(options.receiveBuffer ?? 64 * 1024);
    this.#socket = connect({
      port,
      host: options.host ?? "127.0.0.1",
      noDelay: true,
      onread: { buffer, callback: (size) => this.#onRead(Buffer.from(buffer.subarray(0, size))) },
    });
    this.#socket.on("error", () => {
      this.#failed = true;
    });
    this.#socket.on("close", () => this.#onClose());
  }

  /** Resolves when the connection has closed: in order, or with an error such as a reset. */
  get closed(): Promise<"end" | "error"> {
    return this.#closed.promise;
  }

  get isClosed(): boolean {
    return this.#socket.closed;
  }

  async connected(): Promise<void> {
    if (this.#socket.connecting) await once(this.#socket, "connect");
  }

  /** Sends the pieces as separate writes. Rejects when the peer has closed. */
  async send(pieces: Pieces): Promise<void> {
    const list = typeof pieces === "string" || pieces instanceof Uint8Array ? [pieces] : pieces;
    for (const [index, piece] of list.entries()) {
      if (index > 0) await sleep(this.#options.gapMs ?? 5);
      await new Promise<void>((resolve, reject) => {
        this.#socket.write(piece, (error) => (error ? reject(error) : resolve()));
      });
    }
  }

  /** The head of the next answer that `response` has not returned yet. */
  async head(withinMs = DEFAULT_WAIT_MS): Promise<{ status: number; headers: readonly HeaderPair[] }> {
    const head = await within(withinMs, this.#answer().head.promise, () => "no head came");
    return { status: statusOf(head.startLine), headers: head.headers };
  }

  /** The next answer, whole or cut; rejects if the connection closed before its head. */
  async response(withinMs = DEFAULT_WAIT_MS): Promise<RawResponse> {
    const answer = this.#answer();
    await within(withinMs, answer.end.promise, () => `answer not complete, ${this.received} bytes so far`);
    const { startLine, headers } = await answer.head.promise;
    this.#next += 1;
    return {
      status: statusOf(startLine),
      statusLine: startLine,
      headers,
      body: Buffer.concat(answer.body),
      trailers: answer.trailers,
      complete: answer.complete,
      interim: answer.interim,
      header: (name) => headerOf(headers, name),
    };
  }

  /** Stops taking bytes from the kernel. */
  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  /** Hard close: the peer sees a reset. */
  reset(): void {
    this.#socket.resetAndDestroy();
  }

  /** Orderly close. */
  async close(): Promise<void> {
    if (this.#socket.closed) return;
    this.#socket.destroy();
    await this.#closed.promise;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #answer(): Incoming {
    const answer = this.#answers[this.#next];
    if (!answer) throw new Error("no further answer on a closed connection");
    return answer;
  }

  #onRead(chunk: Buffer): boolean {
    this.received += chunk.length;
    const hadHead = this.#answers[0]?.started === true;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
    const headNow = !hadHead && this.#answers[0]?.started === true;
    return !(headNow && this.#options.pauseAfterHead === true);
  }

  #onHead(head: WireHead): { hasBody: boolean } {
    const status = statusOf(head.startLine);
    this.#informational = status < 200;
    const answer = this.#answers.at(-1);
    if (this.#informational) answer?.interim.push(status);
    else if (answer) {
      answer.started = true;
      answer.head.resolve(head);
    }
    const bare = this.#informational || status === 204 || status === 304 || this.#options.head === true;
    return { hasBody: !bare };
  }

  #onBody(chunk: Buffer): void {
    this.#options.onBody?.(chunk);
    if (this.#options.keepBody !== false) this.#answers.at(-1)?.body.push(chunk);
  }

  #onEnd(trailers: readonly HeaderPair[]): void {
    const answer = this.#answers.at(-1);
    if (this.#informational || !answer) return;
    answer.trailers = trailers;
    answer.complete = true;
    answer.end.resolve();
    this.#answers.push(new Incoming());
  }

  #onClose(): void {
    if (!this.#failed) this.#reader.finish();
    const last = this.#answers.at(-1);
    const error = new Error("connection closed before an answer");
    if (last?.started === true) last.end.resolve();
    else {
      last?.head.reject(error);
      last?.end.reject(error);
    }
    this.#closed.resolve(this.#failed ? "error" : "end");
  }
}

/** Connects, sends the bytes in the given pieces, and returns the client to read the answer from. */
export async function rawHttp(
  port: number,
  bytes: Pieces,
  options: RawHttpOptions = {},
): Promise<RawHttpClient> {
  const client = new RawHttpClient(port, options);
  await client.connected();
  await client.send(bytes);
  return client;
}

/** A request as bytes, headers as given plus Host and Content-Length unless they are there. */
export function rawRequest(
  method: string,
  path: string,
  headers: readonly HeaderPair[],
  body: string | Uint8Array = "",
): Buffer {
  const bytes = Buffer.from(body);
  const lines = [...headers];
  if (headerOf(lines, "host") === undefined) lines.unshift(["Host", "localhost"]);
  const framed = ["content-length", "transfer-encoding"].some((name) => headerOf(lines, name) !== undefined);
  if (!framed && bytes.length > 0) lines.push(["Content-Length", String(bytes.length)]);
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
  return Buffer.concat([Buffer.from(`${method} ${path} HTTP/1.1\r\n${head}\r\n`, "latin1"), bytes]);
}

function statusOf(statusLine: string): number {
  return Number(statusLine.split(" ")[1]);
}
