/** Ends what it stands for. Idempotent; a listener already queued for delivery is not called any more. */
export interface Subscription {
  unsubscribe(): void;
}

/**
 * `reconnecting` also before the first connection. `closed` only after `close()`: a bus that lost its server tries
 * for ever (B6).
 */
export type BusState = "connected" | "reconnecting" | "closed";

/** Events: at most once, in the order one publisher published them, no answer. Hints over a snapshot, not a log. */
export interface EventBus {
  /** Fire and forget: never throws, never waits. While the bus is down, or full, the message is dropped and counted. */
  publish(subject: string, payload: Uint8Array): void;
  /**
   * `*` stands for one token, a last `>` for one or more. The listener never runs on a publisher's stack; what it
   * throws is reported and harms no other. Throws `TypeError` on a malformed subject.
   */
  subscribe(subject: string, listener: (payload: Uint8Array, subject: string) => void): Subscription;
}

/** One present key. Revisions grow within a bucket for as long as its storage lives. */
export interface KeyValueEntry {
  readonly key: string;
  readonly value: Uint8Array;
  readonly revision: number;
}

/** What a watch tells, from any state of the store. Never called before `watch` has returned. */
export interface KeyValueListener {
  /** `value` undefined: the key was deleted (or had vanished with the storage; `revision` is then the last one known). */
  onEntry(key: string, value: Uint8Array | undefined, revision: number): void;
  /**
   * Every present entry has been told. Called again after each reconnect, when the present state was told again.
   * `lost`: the bucket is another one than before (storage emptied), so revisions started again at 1.
   */
  onCurrent(info: { readonly lost: boolean }): void;
}

/**
 * A bucket of keys. Keys are any string of up to about a thousand bytes (`RangeError` beyond). Every call settles
 * within the bus's time limit and rejects with `BusUnavailableError` when the store did not answer.
 */
export interface KeyValue {
  get(key: string): Promise<KeyValueEntry | undefined>;
  entries(): Promise<KeyValueEntry[]>;
  /** The new revision. */
  put(key: string, value: Uint8Array): Promise<number>;
  /** The new revision, or undefined: the key exists. */
  create(key: string, value: Uint8Array): Promise<number | undefined>;
  /** The new revision, or undefined: `revision` is no longer the key's, another writer won. */
  update(key: string, value: Uint8Array, revision: number): Promise<number | undefined>;
  delete(key: string): Promise<void>;
  /**
   * Every present entry, then `onCurrent` once, then every change; survives reconnects and lost storage. An entry
   * that ends by the bucket's `ttlMs` ends silently: its watcher knows the time as well as the store.
   */
  watch(listener: KeyValueListener): Subscription;
}

/** Totals since the start. `dropped`: messages that were not sent; `reconnects`: connections after the first. */
export interface BusCounters {
  readonly dropped: number;
  readonly published: number;
  readonly reconnects: number;
}

/** Events and key-value buckets over one connection. No request may wait on it (invariant 2). */
export interface Bus extends EventBus {
  readonly state: BusState;
  /** Called on each change, not with the present state. */
  onState(listener: (state: BusState) => void): Subscription;
  /**
   * The bucket is made on first use; the first call's options count. Throws `TypeError` on a name other than letters,
   * digits, `_` and `-`.
   */
  keyValue(bucket: string, options?: KeyValueOptions): KeyValue;
  counters(): BusCounters;
  /** Flushes what was published, within a second, and ends every subscription and watch. */
  close(): Promise<void>;
}

export interface KeyValueOptions {
  /** The age at which every entry ends, in milliseconds. Left out: entries stay. */
  readonly ttlMs?: number;
}

/** The store did not answer in time, is away, or refused. Its `cause`, where there is one, is the client's error. */
export class BusUnavailableError extends Error {
  override readonly name = "BusUnavailableError";
}
