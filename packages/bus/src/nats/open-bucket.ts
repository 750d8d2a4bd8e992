import { JetStreamApiError, jetstream } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";
import type { NatsConnection } from "nats";
import type { OpenBucket } from "./bucket-replay.ts";

const MAX_REPLICAS = 3;
const STREAM_EXISTS = 10_058;

export interface BucketSettings {
  readonly name: string;
  /** Milliseconds; undefined: entries stay. */
  readonly ttlMs: number | undefined;
  readonly replicas: number | "auto";
  readonly timeoutMs: number;
}

export interface Bucket extends OpenBucket {
  readonly kv: KV;
  /** Names this storage of the bucket: another one after the storage was lost. */
  readonly incarnation: string;
}

/** Opens the bucket, making it where there is none. */
export async function openBucket(client: NatsConnection, settings: BucketSettings): Promise<Bucket> {
  const js = jetstream(client, { timeout: settings.timeoutMs });
  const jsm = await js.jetstreamManager();
  const kv = await openOrCreate(new Kvm(js), client, settings);
  const { streamInfo } = await kv.status();
  return { js, jsm, kv, bucket: settings.name, incarnation: streamInfo.created };
}

async function openOrCreate(manager: Kvm, client: NatsConnection, settings: BucketSettings): Promise<KV> {
  const counts = replicaCounts(client, settings.replicas);
  for (const [index, replicas] of counts.entries()) {
    const create = () =>
      manager.create(settings.name, {
        replicas,
        history: 1,
        // A direct read may be answered by a replica that has not seen this process's last write.
        allow_direct: false,
        ...(settings.ttlMs !== undefined && { ttl: settings.ttlMs }),
      });
    try {
      return await create();
    } catch (error) {
      if (!(error instanceof JetStreamApiError)) throw error;
      // Another process made it in between, with another count: it is there now.
      if (error.code === STREAM_EXISTS) return await create();
      if (index === counts.length - 1) throw error;
    }
  }
  throw new RangeError("replicas must be 1 or more");
}

/** A server outside a cluster has one copy; a cluster is asked for fewer only when it cannot place three. */
function replicaCounts(client: NatsConnection, wanted: number | "auto"): number[] {
  if (wanted !== "auto") return [wanted];
  return client.info?.cluster === undefined ? [1] : [MAX_REPLICAS, 2, 1];
}
