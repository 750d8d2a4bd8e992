import type { Bus, BusCounters, BusState, KeyValue, KeyValueOptions, Subscription } from "../bus.ts";
import { assertBucketName } from "../key-codec.ts";
import { Listeners, type ListenerErrorSink } from "../listeners.ts";
import { ownBytes } from "../own-bytes.ts";
import { assertSubscribable, isPublishable, subjectMatches } from "../subjects.ts";
import { DeliveryQueue } from "./delivery-queue.ts";
import { MemoryKeyValue } from "./memory-key-value.ts";

interface Subscriber {
  readonly subject: string;
  readonly listener: (payload: Uint8Array, subject: string) => void;
}

export interface MemoryBusOptions {
  /** What a listener threw. */
  onListenerError?(error: unknown): void;
}

/** The embedded bus: one process, always connected. */
export function createMemoryBus(options: MemoryBusOptions = {}): Bus {
  return new MemoryBus((error) => options.onListenerError?.(error));
}

class MemoryBus implements Bus {
  readonly #queue: DeliveryQueue;
  readonly #stateListeners: Listeners<BusState>;
  readonly #subscribers = new Set<Subscriber>();
  readonly #buckets = new Map<string, MemoryKeyValue>();
  #state: BusState = "connected";
  #dropped = 0;
  #published = 0;

  constructor(sink: ListenerErrorSink) {
    this.#queue = new DeliveryQueue(sink);
    this.#stateListeners = new Listeners(sink);
  }

  get state(): BusState {
    return this.#state;
  }

  publish(subject: string, payload: Uint8Array): void {
    if (this.#state === "closed" || !isPublishable(subject)) {
      this.#dropped += 1;
      return;
    }
    this.#published += 1;
    let copy: Uint8Array | undefined;
    for (const subscriber of this.#subscribers) {
      if (!subjectMatches(subscriber.subject, subject)) continue;
      copy ??= ownBytes(payload);
      if (!this.#queue.offer(deliver(this.#subscribers, subscriber, copy, subject))) this.#dropped += 1;
    }
  }

  subscribe(subject: string, listener: Subscriber["listener"]): Subscription {
    assertSubscribable(subject);
    const subscriber = { subject, listener };
    if (this.#state !== "closed") this.#subscribers.add(subscriber);
    return { unsubscribe: () => void this.#subscribers.delete(subscriber) };
  }

  onState(listener: (state: BusState) => void): Subscription {
    return this.#stateListeners.add(listener);
  }

  keyValue(bucket: string, options: KeyValueOptions = {}): KeyValue {
    assertBucketName(bucket);
    const known = this.#buckets.get(bucket);
    if (known) return known;
    const made = new MemoryKeyValue(this.#queue, options);
    if (this.#state === "closed") made.close();
    else this.#buckets.set(bucket, made);
    return made;
  }

  counters(): BusCounters {
    return { dropped: this.#dropped, published: this.#published, reconnects: 0 };
  }

  async close(): Promise<void> {
    if (this.#state === "closed") return;
    this.#state = "closed";
    this.#subscribers.clear();
    for (const bucket of this.#buckets.values()) bucket.close();
    this.#stateListeners.tell("closed");
    this.#stateListeners.clear();
  }
}

function deliver(present: Set<Subscriber>, subscriber: Subscriber, payload: Uint8Array, subject: string) {
  return () => {
    if (present.has(subscriber)) subscriber.listener(payload, subject);
  };
}
