import { JetStreamApiCodes, JetStreamApiError } from "@nats-io/jetstream";
import {
  BusUnavailableError,
  type KeyValue,
  type KeyValueEntry,
  type KeyValueListener,
  type Subscription,
} from "../bus.ts";
import { encodeKey } from "../key-codec.ts";
import type { ListenerErrorSink } from "../listeners.ts";
import { replayBucket } from "./bucket-replay.ts";
import { BucketWatch } from "./bucket-watch.ts";
import type { NatsLink } from "./nats-link.ts";
import { ownBytes } from "../own-bytes.ts";
import { type Bucket, type BucketSettings, openBucket } from "./open-bucket.ts";
import { settleWithin } from "./settle-within.ts";

export interface BucketEnvironment {
  readonly link: NatsLink;
  readonly onListenerError: ListenerErrorSink;
  /** Resolves when the link is up, or rejects with `BusUnavailableError` at the latest after `ms`. */
  untilUp(ms: number): Promise<void>;
  /** The account has no JetStream: said once. */
  onNoJetStream(): void;
}

/** One bucket over NATS. It is opened again after each reconnect and whenever a call failed. */
export class NatsKeyValue implements KeyValue {
  readonly #settings: BucketSettings;
  readonly #environment: BucketEnvironment;
  readonly #watches = new Set<BucketWatch>();
  #opened: { readonly connection: number; readonly bucket: Promise<Bucket> } | undefined;

  constructor(settings: BucketSettings, environment: BucketEnvironment) {
    this.#settings = settings;
    this.#environment = environment;
  }

  async get(key: string): Promise<KeyValueEntry | undefined> {
    const encoded = encodeKey(key);
    const entry = await this.#call(async ({ kv }) => kv.get(encoded));
    if (!entry || entry.operation !== "PUT") return undefined;
    return { key, value: ownBytes(entry.value), revision: entry.revision };
  }

  entries(): Promise<KeyValueEntry[]> {
    return this.#call(readAll);
  }

  put(key: string, value: Uint8Array): Promise<number> {
    const own = ownBytes(value);
    return this.#write(key, (bucket, encoded) => bucket.kv.put(encoded, own));
  }

  create(key: string, value: Uint8Array): Promise<number | undefined> {
    const own = ownBytes(value);
    return this.#write(key, (bucket, encoded) => unlessLost(bucket.kv.create(encoded, own)));
  }

  async update(key: string, value: Uint8Array, revision: number): Promise<number | undefined> {
    if (revision < 1) return undefined;
    const own = ownBytes(value);
    return this.#write(key, (bucket, encoded) => unlessLost(bucket.kv.update(encoded, own, revision)));
  }

  delete(key: string): Promise<void> {
    return this.#write(key, (bucket, encoded) => bucket.kv.delete(encoded));
  }

  watch(listener: KeyValueListener): Subscription {
    const openAnew = (): Promise<Bucket> => {
      this.#opened = undefined;
      return this.#open();
    };
    const watch = new BucketWatch(listener, openAnew, this.#environment.onListenerError);
    this.#watches.add(watch);
    if (this.#environment.link.state === "connected") watch.start();
    return {
      unsubscribe: () => {
        watch.stop();
        this.#watches.delete(watch);
      },
    };
  }

  /** The link is up, perhaps with another server behind it. */
  onUp(): void {
    for (const watch of this.#watches) watch.start();
  }

  onDown(): void {
    for (const watch of this.#watches) watch.stop();
  }

  async #write<T>(key: string, write: (bucket: Bucket, encoded: string) => Promise<T>): Promise<T> {
    const encoded = encodeKey(key);
    return this.#call((bucket) => write(bucket, encoded));
  }

  /** A link that has been down for as long as a call may take is not waited for at all. */
  async #call<T>(use: (bucket: Bucket) => Promise<T>): Promise<T> {
    const { link } = this.#environment;
    const budget = this.#settings.timeoutMs;
    const whole = async (): Promise<T> => {
      await this.#environment.untilUp(budget - link.downMs);
      return use(await this.#open());
    };
    try {
      return await settleWithin(budget, whole());
    } catch (error) {
      this.#opened = undefined;
      if (error instanceof BusUnavailableError) throw error;
      throw new BusUnavailableError(`bucket ${this.#settings.name}: ${messageOf(error)}`, { cause: error });
    }
  }

  #open(): Promise<Bucket> {
    const { client, connections } = this.#environment.link;
    if (!client) return Promise.reject(new BusUnavailableError("not connected"));
    if (this.#opened?.connection === connections) return this.#opened.bucket;
    const opened = { connection: connections, bucket: openBucket(client, this.#settings) };
    this.#opened = opened;
    opened.bucket.catch((error: unknown) => {
      if (this.#opened === opened) this.#opened = undefined;
      if (isNoJetStream(error)) this.#environment.onNoJetStream();
    });
    return opened.bucket;
  }
}

/** The present entries, by a replay that ends when it is current. */
async function readAll(bucket: Bucket): Promise<KeyValueEntry[]> {
  const found = new Map<string, KeyValueEntry>();
  const complete = Promise.withResolvers<void>();
  const replay = await replayBucket(bucket, {
    onEntry: (key, value, revision) => {
      if (value) found.set(key, { key, value, revision });
      else found.delete(key);
    },
    onCurrent: () => complete.resolve(),
  });
  const cutShort = replay.ended.then(() => complete.reject(new BusUnavailableError("read was cut short")));
  try {
    await complete.promise;
  } finally {
    replay.stop();
    await cutShort;
  }
  return [...found.values()];
}

async function unlessLost(written: Promise<number>): Promise<number | undefined> {
  try {
    return await written;
  } catch (error) {
    if (error instanceof JetStreamApiError && LOST.has(error.code)) return undefined;
    throw error;
  }
}

const LOST: ReadonlySet<number> = new Set([
  JetStreamApiCodes.StreamWrongLastSequence,
  JetStreamApiCodes.StreamWrongLastSequenceUnknown,
]);

function isNoJetStream(error: unknown): boolean {
  // The client does not export this class of its own.
  if (error instanceof Error && error.name === "JetStreamNotEnabled") return true;
  return error instanceof JetStreamApiError && error.code === JetStreamApiCodes.JetStreamNotEnabledForAccount;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
