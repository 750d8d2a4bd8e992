import type { NatsConnection } from "nats";
import {
  type Bus,
  type BusCounters,
  type BusState,
  BusUnavailableError,
  type KeyValue,
  type KeyValueOptions,
  type Subscription,
} from "../bus.ts";
import { assertBucketName } from "../key-codec.ts";
import { callSafely, Listeners } from "../listeners.ts";
import { assertSubscribable, isPublishable } from "../subjects.ts";
import { NatsKeyValue } from "./nats-key-value.ts";
import { NatsLink } from "./nats-link.ts";
import type { NatsOptions } from "./nats-options.ts";
import { OutboundGauge } from "./outbound-gauge.ts";
import { ownBytes } from "../own-bytes.ts";

const DEFAULT_KV_TIMEOUT_MS = 2000;
const ERROR_LOG_MS = 10_000;

interface Subscriber {
  readonly subject: string;
  readonly listener: (payload: Uint8Array, subject: string) => void;
  installed?: Subscription;
}

/**
 * A bus over NATS. Returns at once, also when no server is there, and connects in the background for ever (B6). Throws
 * `TypeError` only on options that can never work.
 */
export function connectNatsBus(options: NatsOptions): Bus {
  return new NatsBus(options);
}

class NatsBus implements Bus {
  readonly #options: NatsOptions;
  readonly #link: NatsLink;
  readonly #stateListeners: Listeners<BusState>;
  readonly #subscribers = new Set<Subscriber>();
  readonly #buckets = new Map<string, NatsKeyValue>();
  #gauge: OutboundGauge | undefined;
  #dropped = 0;
  #published = 0;
  #errorLoggedAt = Number.NEGATIVE_INFINITY;
  #saidNoJetStream = false;

  constructor(options: NatsOptions) {
    this.#options = options;
    this.#stateListeners = new Listeners(this.#onListenerError);
    this.#link = new NatsLink(options, {
      onUp: (client, fresh) => this.#onUp(client, fresh),
      onDown: () => this.#onDown(),
    });
    this.#link.start();
  }

  get state(): BusState {
    return this.#link.state;
  }

  publish(subject: string, payload: Uint8Array): void {
    const { client, state } = this.#link;
    try {
      if (client && state === "connected" && isPublishable(subject) && this.#gauge?.admit(payload.length)) {
        // The client reads it only when it flushes.
        client.publish(subject, ownBytes(payload));
        this.#published += 1;
        return;
      }
    } catch {
      // Larger than the server takes, or the client closed in this very turn: dropped as well.
    }
    this.#dropped += 1;
  }

  subscribe(subject: string, listener: Subscriber["listener"]): Subscription {
    assertSubscribable(subject);
    const subscriber: Subscriber = { subject, listener };
    if (this.state !== "closed") this.#subscribers.add(subscriber);
    const { client } = this.#link;
    if (client && !client.isClosed()) this.#install(client, subscriber);
    return {
      unsubscribe: () => {
        this.#subscribers.delete(subscriber);
        subscriber.installed?.unsubscribe();
      },
    };
  }

  onState(listener: (state: BusState) => void): Subscription {
    return this.#stateListeners.add(listener);
  }

  keyValue(name: string, { ttlMs }: KeyValueOptions = {}): KeyValue {
    assertBucketName(name);
    const known = this.#buckets.get(name);
    if (known) return known;
    const { replicas = "auto", kvTimeoutMs: timeoutMs = DEFAULT_KV_TIMEOUT_MS } = this.#options;
    const bucket = new NatsKeyValue(
      { name, ttlMs, replicas, timeoutMs },
      {
        link: this.#link,
        onListenerError: this.#onListenerError,
        untilUp: (ms) => this.#untilUp(ms),
        onNoJetStream: () => this.#onNoJetStream(),
      },
    );
    this.#buckets.set(name, bucket);
    return bucket;
  }

  counters(): BusCounters {
    const reconnects = Math.max(0, this.#link.connections - 1);
    return { dropped: this.#dropped, published: this.#published, reconnects };
  }

  async close(): Promise<void> {
    if (this.state === "closed") return;
    this.#subscribers.clear();
    for (const bucket of this.#buckets.values()) bucket.onDown();
    const closing = this.#link.close();
    this.#stateListeners.tell("closed");
    this.#stateListeners.clear();
    await closing;
  }

  #onUp(client: NatsConnection, fresh: boolean): void {
    this.#gauge = new OutboundGauge(client);
    if (fresh) for (const subscriber of this.#subscribers) this.#install(client, subscriber);
    for (const bucket of this.#buckets.values()) bucket.onUp();
    this.#stateListeners.tell("connected");
  }

  #onDown(): void {
    for (const bucket of this.#buckets.values()) bucket.onDown();
    this.#stateListeners.tell("reconnecting");
  }

  #install(client: NatsConnection, subscriber: Subscriber): void {
    subscriber.installed = client.subscribe(subscriber.subject, {
      callback: (error, message) => {
        // The server refused the subscription; the link logs it.
        if (error || !this.#subscribers.has(subscriber)) return;
        callSafely(this.#onListenerError, () => subscriber.listener(ownBytes(message.data), message.subject));
      },
    });
  }

  async #untilUp(ms: number): Promise<void> {
    if (this.state === "connected") return;
    if (this.state === "closed" || ms <= 0) throw new BusUnavailableError(`the bus is ${this.state}`);
    const up = Promise.withResolvers<void>();
    const timer = setTimeout(() => up.reject(new BusUnavailableError("the bus is reconnecting")), ms);
    const subscription = this.#stateListeners.add((state) => {
      if (state === "connected") up.resolve();
      else if (state === "closed") up.reject(new BusUnavailableError("the bus is closed"));
    });
    try {
      await up.promise;
    } finally {
      clearTimeout(timer);
      subscription.unsubscribe();
    }
  }

  #onNoJetStream(): void {
    if (this.#saidNoJetStream) return;
    this.#saidNoJetStream = true;
    this.#options.log?.("warn", "NATS has no JetStream here: events work, stored state does not");
  }

  readonly #onListenerError = (error: unknown): void => {
    if (this.#options.onListenerError) {
      this.#options.onListenerError(error);
      return;
    }
    const now = performance.now();
    if (now - this.#errorLoggedAt < ERROR_LOG_MS) return;
    this.#errorLoggedAt = now;
    this.#options.log?.(
      "warn",
      `a bus listener threw: ${error instanceof Error ? error.message : "no error"}`,
    );
  };
}
