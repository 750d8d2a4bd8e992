import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { KeyValue } from "@switchyard/bus";

const TAG_BYTES = 16;
const KEY_BYTES = 32;
const STORE_KEY = "continuation-key";
const MOST_KEYS = 3;

/**
 * Authenticates what travels through callers. All routers share one key through the store; until it is there, and
 * while the store is away, a router uses its own.
 */
export class Seal {
  #keys: readonly Buffer[] = [randomBytes(KEY_BYTES)];

  /** Payload and tag in one. */
  close(payload: Uint8Array): Uint8Array<ArrayBuffer> {
    const tag = tagOf(this.#keys[0] as Buffer, payload);
    const sealed = new Uint8Array(payload.length + TAG_BYTES);
    sealed.set(payload);
    sealed.set(tag, payload.length);
    return sealed;
  }

  /** The payload, or undefined when no router of this cluster sealed it. */
  open(sealed: Uint8Array): Uint8Array | undefined {
    if (sealed.length < TAG_BYTES) return undefined;
    const payload = sealed.subarray(0, sealed.length - TAG_BYTES);
    const tag = sealed.subarray(sealed.length - TAG_BYTES);
    return this.#keys.some((key) => timingSafeEqual(tagOf(key, payload), tag)) ? payload : undefined;
  }

  /** Shares the key through the store; ends with the returned function. */
  share(store: KeyValue): () => void {
    const watch = store.watch({
      onEntry: (key, value) => {
        if (key === STORE_KEY && value !== undefined && value.length === KEY_BYTES)
          this.#use(Buffer.from(value));
      },
      onCurrent: () => {
        // Whoever comes first gives its own key to all; the others learn it by their watch.
        void store.create(STORE_KEY, this.#keys[0] as Buffer).catch(() => undefined);
      },
    });
    return () => watch.unsubscribe();
  }

  #use(key: Buffer): void {
    const others = this.#keys.filter((known) => !known.equals(key));
    this.#keys = [key, ...others].slice(0, MOST_KEYS);
  }
}

function tagOf(key: Buffer, payload: Uint8Array): Buffer {
  return createHmac("sha256", key).update(payload).digest().subarray(0, TAG_BYTES);
}
