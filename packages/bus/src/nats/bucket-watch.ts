import { setTimeout as delay } from "node:timers/promises";
import type { KeyValueListener } from "../bus.ts";
import { callSafely, type ListenerErrorSink } from "../listeners.ts";
import { type Replay, replayBucket } from "./bucket-replay.ts";
import type { Bucket } from "./open-bucket.ts";

const MIN_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2000;

/**
 * One watch, across connections and storages. Each `start` tells the present state anew; what was known before and is
 * not present any more is told as deleted.
 */
export class BucketWatch {
  readonly #listener: KeyValueListener;
  readonly #open: () => Promise<Bucket>;
  readonly #sink: ListenerErrorSink;
  /** Key to last revision, of what the listener holds for present. */
  readonly #known = new Map<string, number>();
  #incarnation: string | undefined;
  /** Changes with each start and stop; who runs for an older one leaves. */
  #run = 0;
  #replay: Replay | undefined;

  constructor(listener: KeyValueListener, open: () => Promise<Bucket>, sink: ListenerErrorSink) {
    this.#listener = listener;
    this.#open = open;
    this.#sink = sink;
  }

  start(): void {
    this.stop();
    void this.#keepReplaying(this.#run);
  }

  stop(): void {
    this.#run += 1;
    this.#replay?.stop();
    this.#replay = undefined;
  }

  async #keepReplaying(run: number): Promise<void> {
    let pause = MIN_PAUSE_MS;
    while (run === this.#run) {
      try {
        await this.#replayOnce(run, () => {
          pause = MIN_PAUSE_MS;
        });
      } catch {
        // Calls on the bucket tell why; a watch only tries until the store is back.
      }
      if (run !== this.#run) return;
      await delay(pause, undefined, { ref: false });
      pause = Math.min(MAX_PAUSE_MS, pause * 2);
    }
  }

  async #replayOnce(run: number, onCurrent: () => void): Promise<void> {
    const bucket = await this.#open();
    if (run !== this.#run) return;
    const lost = this.#incarnation !== undefined && this.#incarnation !== bucket.incarnation;
    let unseen: Set<string> | undefined = new Set(this.#known.keys());
    const replay = await replayBucket(bucket, {
      onEntry: (key, value, revision) => {
        if (run !== this.#run) return;
        unseen?.delete(key);
        this.#tell(key, value, revision);
      },
      onCurrent: () => {
        if (run !== this.#run) return;
        for (const key of unseen ?? []) this.#tell(key, undefined, this.#known.get(key) ?? 0);
        unseen = undefined;
        this.#incarnation = bucket.incarnation;
        callSafely(this.#sink, () => this.#listener.onCurrent({ lost }));
        onCurrent();
      },
    });
    if (run !== this.#run) {
      replay.stop();
      return;
    }
    this.#replay = replay;
    await replay.ended;
  }

  #tell(key: string, value: Uint8Array | undefined, revision: number): void {
    if (value) this.#known.set(key, revision);
    else if (!this.#known.delete(key)) return;
    callSafely(this.#sink, () => this.#listener.onEntry(key, value, revision));
  }
}
