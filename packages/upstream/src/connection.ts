import type { Socket } from "node:net";
import { Client, type Dispatcher } from "undici";
import { InterimFilter } from "./interim-filter.ts";

const MAX_HEAD_BYTES = 64 * 1024;

/** Taken off a provider's `Keep-Alive: timeout`, so that we close first. */
const KEEP_ALIVE_MARGIN_MS = 500;

/** Hears that an idle connection is gone. */
export interface ConnectionOwner {
  onIdleClosed(connection: Connection): void;
}

/**
 * One socket with an HTTP/1.1 client on it that never opens another: who holds a connection knows whether its socket
 * was used before, which the replay of invariant 7 turns on.
 */
export class Connection {
  readonly #socket: Socket;
  readonly #client: Client;
  readonly #filter = new InterimFilter();
  #idle = false;
  #served = 0;

  constructor(origin: string, socket: Socket, keepAliveMs: number, owner: ConnectionOwner) {
    this.#socket = socket;
    const read = socket.read.bind(socket);
    socket.read = (size?: number): Buffer | null => {
      const chunk = read(size) as Buffer | null;
      return chunk === null ? null : this.#filter.pass(chunk);
    };
    let given = false;
    this.#client = new Client(origin, {
      connect: (_options, callback) => {
        const again = given;
        given = true;
        // undici is inside its own loop here and would not see a synchronous answer.
        queueMicrotask(() => (again ? callback(new Error("socket is gone"), null) : callback(null, socket)));
      },
      allowH2: false,
      pipelining: 1,
      headersTimeout: 0,
      bodyTimeout: 0,
      keepAliveTimeout: Math.max(1, keepAliveMs),
      keepAliveMaxTimeout: Math.max(1, keepAliveMs),
      keepAliveTimeoutThreshold: KEEP_ALIVE_MARGIN_MS,
      maxHeaderSize: MAX_HEAD_BYTES,
      // The other parser does not read through `socket.read`.
      useMilo: false,
    });
    socket.once("close", () => {
      if (this.#idle) {
        owner.onIdleClosed(this);
      }
    });
  }

  /** Whether the socket carried an exchange before the present one. */
  get reused(): boolean {
    return this.#served > 1;
  }

  /** Whether any byte came back since the last dispatch. */
  get byteSeen(): boolean {
    return this.#filter.byteSeen;
  }

  /** Whether another exchange may start: still open, and nothing of the last request waits to be sent. */
  get usable(): boolean {
    return !this.#socket.destroyed && this.#socket.readable && this.#socket.writableLength === 0;
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    this.#idle = false;
    this.#served += 1;
    this.#filter.expectHead();
    this.#client.dispatch(options, handler);
  }

  /** Marks that nobody holds the connection. */
  rest(): void {
    this.#idle = true;
  }

  /** Closes the socket now, whatever runs on it. */
  destroy(): void {
    this.#idle = false;
    this.#socket.destroy();
    this.#client.destroy(null, ignore);
  }

  /** Resolves once the socket is closed. */
  whenClosed(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#socket.closed) {
        resolve();
      } else {
        this.#socket.once("close", () => resolve());
      }
    });
  }
}

function ignore(): void {}
