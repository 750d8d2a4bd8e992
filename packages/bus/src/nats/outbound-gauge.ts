import type { NatsConnection } from "nats";

/** Unconfirmed bytes from which the server is asked how far it got. */
const ASK_BYTES = 64 * 1024;
/** Unconfirmed bytes that are the most this process holds for a server that has stopped reading. */
const MAX_BYTES = 8 * 1024 * 1024;

/** Bounds what waits in this process for one connection: the client itself would buffer without end. */
export class OutboundGauge {
  readonly #client: NatsConnection;
  #unconfirmed = 0;
  #asking = false;

  constructor(client: NatsConnection) {
    this.#client = client;
  }

  /** Counts `bytes` in, unless there is no room for them. */
  admit(bytes: number): boolean {
    if (this.#unconfirmed > ASK_BYTES && !this.#asking) void this.#ask();
    if (this.#unconfirmed + bytes > MAX_BYTES) return false;
    this.#unconfirmed += bytes;
    return true;
  }

  async #ask(): Promise<void> {
    const covered = this.#unconfirmed;
    this.#asking = true;
    try {
      await this.#client.flush();
      this.#unconfirmed -= covered;
      this.#asking = false;
    } catch {
      // The connection is gone, and this gauge with it: the next connection has its own.
    }
  }
}
