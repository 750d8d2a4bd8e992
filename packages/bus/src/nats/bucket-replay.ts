import {
  AckPolicy,
  DeliverPolicy,
  type JetStreamClient,
  type JetStreamManager,
  type JsMsg,
} from "@nats-io/jetstream";
import { createInbox, nanos, nuid } from "nats";
import { decodeKey } from "../key-codec.ts";
import { ownBytes } from "../own-bytes.ts";

const HEARTBEAT_MS = 1000;
/** The server forgets a consumer that nobody listens to any more. */
const INACTIVE_MS = 30_000;

/** An open bucket: the stream behind it, and how to reach it. */
export interface OpenBucket {
  readonly js: JetStreamClient;
  readonly jsm: JetStreamManager;
  readonly bucket: string;
}

export interface ReplaySink {
  /** `value` undefined: a deletion, also one from before. */
  onEntry(key: string, value: Uint8Array | undefined, revision: number): void;
  /** Everything present when the replay began was told. */
  onCurrent(): void;
}

export interface Replay {
  /** Resolves when no more will come: stopped, or something was missed, or the bucket is gone. */
  readonly ended: Promise<void>;
  stop(): void;
}

/** Tells the last message of every key and then each new one, in order, until something is missed. */
export async function replayBucket(open: OpenBucket, sink: ReplaySink): Promise<Replay> {
  const stream = `KV_${open.bucket}`;
  const prefix = `$KV.${open.bucket}.`;
  const name = `KV_WATCHER_${nuid.next()}`;
  const deliver_subject = createInbox();
  const idle_heartbeat = nanos(HEARTBEAT_MS);
  const info = await open.jsm.consumers.add(stream, {
    name,
    deliver_subject,
    idle_heartbeat,
    deliver_policy: DeliverPolicy.LastPerSubject,
    filter_subject: `${prefix}>`,
    ack_policy: AckPolicy.None,
    flow_control: true,
    inactive_threshold: nanos(INACTIVE_MS),
    num_replicas: 1,
    mem_storage: true,
  });
  let current = false;
  let expected = 1;
  const reached = (): void => {
    if (current) return;
    current = true;
    sink.onCurrent();
  };
  const consumer = await open.js.consumers.getBoundPushConsumer({ deliver_subject, idle_heartbeat });
  const messages = await consumer.consume({
    callback: (message) => {
      const { deliverySequence, streamSequence, pending } = message.info;
      if (deliverySequence !== expected) {
        messages.stop();
        return;
      }
      expected += 1;
      sink.onEntry(decodeKey(message.subject.slice(prefix.length)), valueOf(message), streamSequence);
      if (pending === 0) reached();
    },
  });
  if (info.num_pending === 0) reached();
  void (async () => {
    for await (const status of messages.status()) {
      // A server with nothing to send has sent all; entries that ended during the replay are never sent.
      if (status.type === "heartbeat" && status.lastConsumerSequence === expected - 1) reached();
      else if (status.type === "heartbeats_missed" || status.type === "consumer_deleted") messages.stop();
    }
  })();
  const ended = (async () => {
    await messages.closed();
  })();
  return {
    ended,
    stop: () => {
      messages.stop();
      open.jsm.consumers.delete(stream, name).catch(() => {
        // It ends by itself when nobody listens.
      });
    },
  };
}

function valueOf(message: JsMsg): Uint8Array | undefined {
  const operation = message.headers?.get("KV-Operation");
  return operation === "DEL" || operation === "PURGE" ? undefined : ownBytes(message.data);
}
