import type { Socket } from "node:net";

/** What a request's source tells the exchange that it was attached to. */
export interface ExchangeEvents {
  readonly answer: {
    /** The caller takes more again. */
    drained(): void;
  };
  onData(piece: Buffer): void;
  /** The body is complete. */
  onEnd(): void;
  /** No byte went either way for the server's time-out. */
  onTimeout(): void;
  /** The answer is out, or the caller left. */
  onClose(): void;
}

/** Where a request comes from. Named as in node's `IncomingMessage`, which is one of the two; the fast lane is the other. */
export interface RequestSource {
  readonly socket: Socket;
  /** The whole body has come. */
  readonly complete: boolean;
  /** Gives the exchange the rest of what happens to this request. */
  attach(exchange: ExchangeEvents): void;
  /** From now on the body goes to the exchange: `onData`, then `onEnd`. */
  readBody(): void;
}

/** Where its answer goes. Named as in node's `ServerResponse`. */
export interface ResponseWriter {
  /** The head is written; what follows can only be its body. */
  readonly headersSent: boolean;
  /** The caller takes no more at present; {@link ExchangeEvents.answer} hears when it does. */
  readonly writableNeedDrain: boolean;
  /** All of the answer is with the operating system. */
  readonly writableFinished: boolean;
  /** Takes the head: names and values in turn, `content-length` among them where it is told. False: it cannot be written. */
  putHead(status: number, headers: readonly string[]): boolean;
  /** Sends the head alone. */
  flushHeaders(): void;
  /** Sends a part of the body, `size` bytes in all, as one write where that is cheap. */
  put(pieces: readonly Uint8Array[], size: number): void;
  /** Sends the last part, which may be empty. */
  finish(pieces: readonly Uint8Array[], size: number): void;
  writeContinue(): void;
  /** Cuts the connection. */
  destroy(): void;
}
