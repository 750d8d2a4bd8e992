import type { Socket } from "node:net";
import { FastConnection, type FastConnectionHost } from "./fast-connection.ts";

const SWEEP_MS = 1000;

/** All connections that this process reads itself, and the one timer that bounds what they wait for. */
export class FastLane {
  readonly #connections = new Set<FastConnection>();
  readonly #host: FastConnectionHost;
  #sweeper: NodeJS.Timeout | undefined;
  #sweptAt = 0;

  constructor(host: Omit<FastConnectionHost, "onLeft">) {
    this.#host = { ...host, onLeft: (connection) => void this.#connections.delete(connection) };
  }

  /** Takes an accepted connection. Its socket is destroyed by whoever accepted it. */
  take(socket: Socket): void {
    this.#connections.add(new FastConnection(socket, this.#host));
    this.#sweeper ??= setInterval(() => this.#sweep(), SWEEP_MS).unref();
  }

  /** Takes no more; the last connections are destroyed or soon to be. */
  close(): void {
    clearInterval(this.#sweeper);
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#connections) connection.sweep(now, this.#sweptAt);
    this.#sweptAt = now;
  }
}
