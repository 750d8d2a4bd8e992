import { setTimeout as delay } from "node:timers/promises";
import { connect, type ConnectionOptions, type NatsConnection, type Status } from "nats";
import type { BusState } from "../bus.ts";
import { clientOptions, type NatsOptions } from "./nats-options.ts";
import { ReconnectPause } from "./reconnect-pause.ts";

/** After these the first connection is reported missing. */
const FIRST_REPORT_MS = 1000;
/** What a client that calls its connection stale gets to leave it. */
const STALE_GRACE_MS = 1000;
const CLOSE_FLUSH_MS = 1000;

export interface LinkEvents {
  /** Connected. `fresh`: by a client object that knows nothing yet of this process's subscriptions. */
  onUp(client: NatsConnection, fresh: boolean): void;
  onDown(): void;
}

/**
 * Keeps exactly one connection, for ever: one client object, which reconnects by itself, and another only after that
 * one has closed.
 */
export class NatsLink {
  readonly #options: ConnectionOptions;
  readonly #log: (level: "info" | "warn", message: string) => void;
  readonly #events: LinkEvents;
  readonly #pause = new ReconnectPause(performance.now());
  #state: BusState = "reconnecting";
  #client: NatsConnection | undefined;
  #greeted = false;
  #reason = "connection lost";
  /** The client called its connection stale and has not left it yet. */
  #leaving = false;
  #refusal = "";
  #connections = 0;
  #downSince = performance.now();

  constructor(options: NatsOptions, events: LinkEvents) {
    this.#events = events;
    this.#log = (level, message) => options.log?.(level, message);
    this.#options = clientOptions(options, {
      pause: () => {
        // The only way to stop a client that has never been connected.
        if (this.#state === "closed") throw new Error("closed");
        return this.#pause.at(performance.now());
      },
      onGreeted: () => {
        this.#greeted = true;
      },
    });
  }

  /** Returns at once and connects in the background. */
  start(): void {
    const report = setTimeout(() => this.#reportMissing(), FIRST_REPORT_MS);
    report.unref();
    void this.#run();
  }

  get state(): BusState {
    return this.#state;
  }

  /** The client object, also while it reconnects. */
  get client(): NatsConnection | undefined {
    return this.#client;
  }

  /** Counts the connections made, so that it names the present one. */
  get connections(): number {
    return this.#connections;
  }

  /** Milliseconds since the connection was lost; 0 while there is one. */
  get downMs(): number {
    return this.#state === "connected" ? 0 : performance.now() - this.#downSince;
  }

  async close(): Promise<void> {
    const wasUp = this.#state === "connected";
    this.#state = "closed";
    const client = this.#client;
    if (!client) return;
    if (wasUp)
      await Promise.race([client.flush().catch(() => {}), delay(CLOSE_FLUSH_MS, undefined, { ref: false })]);
    await client.close();
  }

  async #run(): Promise<void> {
    while (this.#state !== "closed") {
      try {
        await this.#follow(await connect({ ...this.#options }));
      } catch (error) {
        this.#reason = error instanceof Error ? error.message : "connection lost";
      }
      this.#down();
      if (!this.#isClosed()) await delay(this.#pause.at(performance.now()));
    }
  }

  /** Until the client has closed for good. */
  async #follow(client: NatsConnection): Promise<void> {
    const statuses = client.status();
    try {
      if (this.#isClosed()) return;
      this.#client = client;
      this.#up(client, true);
      await this.#listen(client, statuses);
    } finally {
      this.#client = undefined;
      this.#leaving = false;
      await client.close();
    }
  }

  async #listen(client: NatsConnection, statuses: AsyncIterable<Status>): Promise<void> {
    for await (const status of statuses) {
      switch (status.type) {
        case "reconnect":
          this.#up(client, false);
          break;
        case "disconnect":
          this.#leaving = false;
          this.#down();
          break;
        case "staleConnection":
          this.#reason = "no answer to pings";
          this.#down();
          this.#leaving = true;
          this.#abandonLater(client);
          break;
        case "error":
          this.#heard(status.error);
          break;
        default:
      }
    }
  }

  #up(client: NatsConnection, fresh: boolean): void {
    if (this.#state !== "reconnecting") return;
    this.#state = "connected";
    this.#connections += 1;
    this.#reason = "connection lost";
    this.#pause.up(performance.now());
    this.#log("info", `NATS connected: ${client.getServer()}`);
    this.#events.onUp(client, fresh);
  }

  #down(): void {
    if (this.#state !== "connected") return;
    this.#state = "reconnecting";
    this.#downSince = performance.now();
    this.#pause.down(this.#downSince);
    this.#log("warn", `NATS away: ${this.#reason}; events are dropped until it is back`);
    this.#events.onDown();
  }

  /** A client waits for its socket to take what it wrote before it leaves, which a silent server never lets happen. */
  #abandonLater(client: NatsConnection): void {
    const timer = setTimeout(() => {
      if (this.#leaving) void client.close();
    }, STALE_GRACE_MS);
    timer.unref();
  }

  /** One line for a refusal, however often the server repeats it. */
  #heard(error: Error): void {
    this.#reason = error.message;
    if (error.message === this.#refusal) return;
    this.#refusal = error.message;
    this.#log("warn", `NATS refuses: ${error.message}`);
  }

  #reportMissing(): void {
    if (this.#connections > 0 || this.#state === "closed") return;
    const why = this.#greeted ? "the server answers but lets nobody in (credentials?)" : "no server answers";
    this.#log("warn", `NATS away at start: ${why}; still trying`);
  }

  #isClosed(): boolean {
    return this.#state === "closed";
  }
}
