import { STATUS_CODES } from "node:http";
import type { Socket } from "node:net";
import { fieldName, isFieldValue, lastChunk, type Part, writeParts } from "@switchyard/http1";
import type { ResponseWriter } from "./ports.ts";

/** Is told how an answer on its connection ends. */
export interface FastWriterOwner {
  /** All of the answer is with the operating system, or never will be. */
  onAnswered(): void;
}

/** Writes the answers on one connection, one after the other, as node:http would, but each turn's bytes as one write. */
export class FastWriter implements ResponseWriter {
  headersSent = false;
  writableFinished = false;
  /** The answer told its caller that the connection ends. */
  closes = false;
  readonly #socket: Socket;
  readonly #owner: FastWriterOwner;
  readonly #keepAlive: string;
  #bodyless = false;
  #chunked = false;
  /** Not yet given to the socket. */
  #head = "";

  /** `keepAliveSeconds`: what callers are told. */
  constructor(socket: Socket, owner: FastWriterOwner, keepAliveSeconds: number) {
    this.#socket = socket;
    this.#owner = owner;
    this.#keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveSeconds}\r\n`;
  }

  get writableNeedDrain(): boolean {
    return this.#socket.writableNeedDrain;
  }

  /** The next answer follows. `bodyless`: to a HEAD. */
  begin(bodyless: boolean): void {
    this.headersSent = false;
    this.writableFinished = false;
    this.closes = false;
    this.#bodyless = bodyless;
    this.#head = "";
  }

  putHead(status: number, headers: readonly string[]): boolean {
    let head = statusLine(status);
    let dated = false;
    let sized = false;
    let closes = false;
    for (let at = 0; at + 1 < headers.length; at += 2) {
      const given = headers[at] as string;
      const value = headers[at + 1] as string;
      const name = fieldName(given);
      if (name === undefined || !isFieldValue(value)) return false;
      if (name === "date") dated = true;
      else if (name === "content-length") sized = true;
      else if (name === "connection") closes = true;
      head += `${given}: ${value}\r\n`;
    }
    if (!dated) head += dateLine();
    if (!closes) head += this.#keepAlive;
    this.#bodyless ||= status === 204 || status === 304;
    this.#chunked = !sized && !this.#bodyless;
    this.#head = this.#chunked ? `${head}Transfer-Encoding: chunked\r\n\r\n` : `${head}\r\n`;
    this.closes = closes;
    this.headersSent = true;
    return true;
  }

  flushHeaders(): void {
    if (this.#head !== "") this.#send([this.#takeHead()]);
  }

  put(pieces: readonly Uint8Array[], size: number): void {
    if (size === 0 || this.#bodyless) return;
    if (!this.#chunked) {
      this.#send([this.#takeHead(), ...pieces]);
      return;
    }
    this.#send([`${this.#takeHead()}${size.toString(16)}\r\n`, ...pieces, "\r\n"]);
  }

  finish(pieces: readonly Uint8Array[], size: number): void {
    const head = this.#takeHead();
    if (this.#bodyless) this.#send([head]);
    else if (!this.#chunked) this.#send([head, ...pieces]);
    else if (size === 0) this.#send([head + lastChunk]);
    else this.#send([`${head}${size.toString(16)}\r\n`, ...pieces, `\r\n${lastChunk}`]);
    if (this.#socket.writableLength === 0) process.nextTick(finished, this);
    else this.#socket.write("", () => finished(this));
  }

  writeContinue(): void {
    this.#send(["HTTP/1.1 100 Continue\r\n\r\n"]);
  }

  destroy(): void {
    this.#socket.destroy();
  }

  /** For `finished` only. */
  settle(): void {
    this.writableFinished = !this.#socket.destroyed;
    this.#owner.onAnswered();
  }

  #takeHead(): string {
    const head = this.#head;
    this.#head = "";
    return head;
  }

  /** A connection that has ended takes nothing; its end is told elsewhere. */
  #send(parts: readonly Part[]): void {
    if (this.#socket.writable) writeParts(this.#socket, parts);
  }
}

function finished(writer: FastWriter): void {
  writer.settle();
}

const statusLines = new Map<number, string>();

function statusLine(status: number): string {
  let line = statusLines.get(status);
  if (line === undefined) {
    line = `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? "unknown"}\r\n`;
    statusLines.set(status, line);
  }
  return line;
}

let datedSecond = -1;
let dated = "";

function dateLine(): string {
  const now = Date.now();
  const second = Math.floor(now / 1000);
  if (second !== datedSecond) {
    datedSecond = second;
    dated = `Date: ${new Date(now).toUTCString()}\r\n`;
  }
  return dated;
}
