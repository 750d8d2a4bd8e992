import {
  BusUnavailableError,
  type KeyValue,
  type KeyValueEntry,
  type KeyValueListener,
  type KeyValueOptions,
  type Subscription,
} from "../bus.ts";
import { encodeKey } from "../key-codec.ts";
import { ownBytes } from "../own-bytes.ts";
import type { DeliveryQueue } from "./delivery-queue.ts";

interface Stored {
  readonly value: Uint8Array;
  readonly revision: number;
  readonly expiresAt: number;
}

/** A bucket in this process. Lives as long as its bus. */
export class MemoryKeyValue implements KeyValue {
  /** In the order of writing, which with one age for all is the order of ending. */
  readonly #stored = new Map<string, Stored>();
  readonly #watchers = new Set<{ readonly listener: KeyValueListener }>();
  readonly #ttlMs: number;
  readonly #queue: DeliveryQueue;
  #revision = 0;
  #closed = false;

  constructor(queue: DeliveryQueue, options: KeyValueOptions) {
    this.#queue = queue;
    this.#ttlMs = options.ttlMs ?? Number.POSITIVE_INFINITY;
  }

  async get(key: string): Promise<KeyValueEntry | undefined> {
    this.#admit(key);
    const stored = this.#stored.get(key);
    return stored && { key, value: ownBytes(stored.value), revision: stored.revision };
  }

  async entries(): Promise<KeyValueEntry[]> {
    this.#admit();
    return this.#present();
  }

  async put(key: string, value: Uint8Array): Promise<number> {
    this.#admit(key);
    return this.#write(key, value);
  }

  async create(key: string, value: Uint8Array): Promise<number | undefined> {
    this.#admit(key);
    return this.#stored.has(key) ? undefined : this.#write(key, value);
  }

  async update(key: string, value: Uint8Array, revision: number): Promise<number | undefined> {
    this.#admit(key);
    return this.#stored.get(key)?.revision === revision ? this.#write(key, value) : undefined;
  }

  async delete(key: string): Promise<void> {
    this.#admit(key);
    if (!this.#stored.delete(key)) return;
    this.#revision += 1;
    this.#announce(key, undefined, this.#revision);
  }

  watch(listener: KeyValueListener): Subscription {
    this.#expire();
    const present = this.#present();
    const watcher = { listener };
    if (!this.#closed) this.#watchers.add(watcher);
    const tell = (call: () => void) =>
      this.#queue.push(() => {
        if (this.#watchers.has(watcher)) call();
      });
    for (const entry of present) tell(() => listener.onEntry(entry.key, entry.value, entry.revision));
    tell(() => listener.onCurrent({ lost: false }));
    return { unsubscribe: () => void this.#watchers.delete(watcher) };
  }

  close(): void {
    this.#closed = true;
    this.#watchers.clear();
  }

  #admit(key?: string): void {
    if (this.#closed) throw new BusUnavailableError("the bus is closed");
    if (key !== undefined) encodeKey(key);
    this.#expire();
  }

  #present(): KeyValueEntry[] {
    return [...this.#stored].map(([key, { value, revision }]) => ({ key, value: ownBytes(value), revision }));
  }

  #write(key: string, value: Uint8Array): number {
    this.#revision += 1;
    this.#stored.delete(key);
    const expiresAt = Date.now() + this.#ttlMs;
    this.#stored.set(key, { value: ownBytes(value), revision: this.#revision, expiresAt });
    this.#announce(key, ownBytes(value), this.#revision);
    return this.#revision;
  }

  #announce(key: string, value: Uint8Array | undefined, revision: number): void {
    for (const watcher of this.#watchers) {
      this.#queue.push(() => {
        if (this.#watchers.has(watcher)) watcher.listener.onEntry(key, value, revision);
      });
    }
  }

  #expire(): void {
    const now = Date.now();
    for (const [key, { expiresAt }] of this.#stored) {
      if (expiresAt > now) return;
      this.#stored.delete(key);
    }
  }
}
