import { IncomingMessage, ServerResponse } from "node:http";
import type { ExchangeEvents, RequestSource, ResponseWriter } from "./ports.ts";

/** Up to here pieces are joined into one write; beyond, a copy costs more than a write. */
const JOIN_LIMIT = 16 * 1024;

/** A request that node:http read. It knows its exchange, so that its listeners can be shared functions. */
export class FacadeRequest extends IncomingMessage implements RequestSource {
  exchange: ExchangeEvents | undefined = undefined;

  attach(exchange: ExchangeEvents): void {
    this.exchange = exchange;
  }

  readBody(): void {
    this.on("data", onData);
    this.on("end", onEnd);
  }
}

/** An answer that node:http writes. */
export class FacadeResponse extends ServerResponse<FacadeRequest> implements ResponseWriter {
  #listens = false;

  /** Tells the request's exchange what becomes of this answer. */
  watch(): void {
    this.on("close", onClose);
    this.on("timeout", onTimeout);
  }

  putHead(status: number, headers: readonly string[]): boolean {
    try {
      this.writeHead(status, headers as string[]);
      return true;
    } catch {
      return false;
    }
  }

  put(pieces: readonly Uint8Array[], size: number): void {
    const joined = join(pieces, size);
    let room = true;
    if (joined === undefined) {
      this.cork();
      for (const piece of pieces) room = this.write(piece);
      this.uncork();
    } else room = this.write(joined);
    if (room || this.#listens) return;
    this.#listens = true;
    this.on("drain", onDrain);
  }

  finish(pieces: readonly Uint8Array[], size: number): void {
    const joined = size === 0 ? undefined : join(pieces, size);
    if (joined !== undefined) {
      this.end(joined);
      return;
    }
    if (size > 0) this.put(pieces, size);
    this.end();
  }
}

function join(pieces: readonly Uint8Array[], size: number): Uint8Array | undefined {
  if (pieces.length === 1) return pieces[0];
  return size <= JOIN_LIMIT ? Buffer.concat(pieces, size) : undefined;
}

function onData(this: FacadeRequest, piece: Buffer): void {
  this.exchange?.onData(piece);
}

function onEnd(this: FacadeRequest): void {
  this.exchange?.onEnd();
}

function onClose(this: FacadeResponse): void {
  this.req.exchange?.onClose();
}

function onTimeout(this: FacadeResponse): void {
  this.req.exchange?.onTimeout();
}

function onDrain(this: FacadeResponse): void {
  this.req.exchange?.answer.drained();
}
