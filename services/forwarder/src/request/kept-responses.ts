import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { Bus, KeyValue } from "@switchyard/bus";
import { BUCKETS } from "@switchyard/cluster";
import { StoredResponseSchema } from "@switchyard/proto/events/v1/events";
import type { StoredResponse } from "@switchyard/proto/events/v1/events";
import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import type { Logger } from "@switchyard/telemetry";
import { describeFault } from "../describe-fault.ts";

/** OpenAI keeps responses this long; what it has forgotten need not be found. */
const TTL_MS = 30 * 24 * 3_600_000;
/** A request waits this long for the store: nothing waits on it in earnest (invariant 2). */
export const FIND_MS = 50;
/** Where this replica's own callers go on is remembered here too. */
const LOCAL_MOST = 10_000;
/** Writes under way; a store that is this far behind is not worth more memory. */
const WRITES_MOST = 1_000;
const LONGEST_ID = 256;

/** Which account keeps a response or a conversation, by its id (P8): on every replica, and after restarts where the bus is NATS. */
export class KeptResponses {
  readonly #store: KeyValue;
  readonly #logger: Logger;
  /** In order of use, the oldest first. */
  readonly #local = new Map<string, StoredResponse>();
  #writes = 0;
  #failing = false;

  constructor(deps: { readonly bus: Bus; readonly logger: Logger }) {
    this.#store = deps.bus.keyValue(BUCKETS.responses, { ttlMs: TTL_MS });
    this.#logger = deps.logger;
    void this.#open();
  }

  /** What this replica itself remembers of these ids, by those that it knows. */
  known(ids: readonly string[]): Map<string, StoredResponse> {
    const known = new Map<string, StoredResponse>();
    for (const id of ids) {
      const entry = this.#local.get(id);
      if (entry === undefined || known.has(id)) continue;
      this.#keep(id, entry);
      known.set(id, entry);
    }
    return known;
  }

  /** The same of the store: undefined for an id that nobody remembers. Settles within the bus's own time; wait {@link FIND_MS}, no longer. */
  async find(id: string): Promise<StoredResponse | undefined> {
    return id.length > LONGEST_ID ? undefined : this.#load(id);
  }

  /** Here at once, elsewhere soon: nobody waits for it. */
  remember(ids: readonly string[], { provider, askedGroupKey, groupKey }: AttemptOrder): void {
    const entry = create(StoredResponseSchema, { provider, groupKey: askedGroupKey, servedBy: groupKey });
    for (const id of ids) {
      if (id === "" || id.length > LONGEST_ID) continue;
      this.#keep(id, entry);
      this.#write(id, toBinary(StoredResponseSchema, entry));
    }
  }

  /** A bucket is opened on its first use, which takes longer than a request may wait. */
  async #open(): Promise<void> {
    try {
      await this.#store.get("");
    } catch {
      // The store is away; what is written or looked for later opens it.
    }
  }

  async #load(id: string): Promise<StoredResponse | undefined> {
    const found = await this.#store.get(id);
    if (found === undefined) return undefined;
    const entry = fromBinary(StoredResponseSchema, found.value);
    this.#keep(id, entry);
    return entry;
  }

  #keep(id: string, entry: StoredResponse): void {
    this.#local.delete(id);
    this.#local.set(id, entry);
    if (this.#local.size <= LOCAL_MOST) return;
    const oldest = this.#local.keys().next();
    if (oldest.done !== true) this.#local.delete(oldest.value);
  }

  #write(id: string, value: Uint8Array): void {
    if (this.#writes >= WRITES_MOST) {
      this.#told("too many writes are under way");
      return;
    }
    void this.#put(id, value);
  }

  async #put(id: string, value: Uint8Array): Promise<void> {
    this.#writes += 1;
    try {
      await this.#store.put(id, value);
      this.#failing = false;
    } catch (error) {
      this.#told(describeFault(error));
    } finally {
      this.#writes -= 1;
    }
  }

  /** Once until it works again. */
  #told(error: string): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#logger.warn("where responses are kept is not written down", { error });
  }
}
