import { gunzipSync, gzipSync } from "node:zlib";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { KeyValue, Subscription } from "@switchyard/bus";
import type { Config } from "@switchyard/proto/config/v1/config";
import { ConfigSchema } from "@switchyard/proto/config/v1/config";
import { StoredConfigSchema } from "@switchyard/proto/config/v1/stored_config";
import { ConfigConflictError, FeedState, withoutRuntime } from "./config-feed.ts";
import type { AppliedConfig, WritableConfigFeed } from "./config-feed.ts";

const KEY = "current";
const PUT_BACK = "put back";
/** A store that answers takes far less; one that is away must not hold up a start. */
const SEED_AFTER_MS = 1_500;
/** Routers that hold a higher revision put theirs back first; a file comes last (contracts.md section 5). */
const FILE_COMES_LAST_MS = 300;
const LARGEST_BYTES = 900_000;
const LARGEST_DECODED_BYTES = 64 * 1024 * 1024;

export interface StoreFeedOptions {
  readonly store: KeyValue;
  /** What the process's own file gives: serves while the store is away, and seeds an empty one. */
  readonly seed: Config | undefined;
  readonly now: () => number;
  /** Says what happened, in words fit for a log line. */
  readonly report: (level: "info" | "warn", message: string) => void;
  /** Names what is wrong with a stored config, if anything; a faulty one is refused and the last good one kept. */
  readonly faultsOf: (config: Config) => readonly string[];
  /** Whether this process may write: only routers put back and seed. */
  readonly writes: boolean;
}

/** The stored config is the truth; see contracts.md section 2. */
export function createStoreFeed(options: StoreFeedOptions): WritableConfigFeed {
  return new StoreFeed(options);
}

function equalBytes(a: Uint8Array, b: Uint8Array): boolean {
  return a.length === b.length && Buffer.compare(a, b) === 0;
}

/** What the store's key holds: its own revision there, and the config's, where that can be read. */
interface Held {
  readonly keyRevision: number;
  readonly revision: number;
  /** Whether it is refused here. */
  readonly refused: boolean;
}

class StoreFeed extends FeedState implements WritableConfigFeed {
  readonly #options: StoreFeedOptions;
  readonly #watch: Subscription;
  readonly #timers = new Set<NodeJS.Timeout>();
  #stored: { readonly applied: AppliedConfig; readonly keyRevision: number } | undefined;
  /** What the store holds, in force or refused; undefined while it is empty. */
  #held: Held | undefined;
  /**
   * What was last written here or found good, as it stands in the store: what comes back after a write, and again after
   * each reconnect, need not be read and checked once more.
   */
  #good: { readonly value: Uint8Array; readonly applied: AppliedConfig } | undefined;

  constructor(options: StoreFeedOptions) {
    super();
    this.#options = options;
    this.#watch = options.store.watch({
      onEntry: (key, value, revision) => {
        if (key === KEY) this.#onEntry(value, revision);
      },
      onCurrent: () => this.#onCurrent(),
    });
    this.#after(SEED_AFTER_MS, () => this.#serveSeed());
  }

  get refusesStored(): boolean {
    return this.#held?.refused === true;
  }

  async apply(config: Config, by: string, expectedRevision: number | undefined): Promise<AppliedConfig> {
    const stored = this.#stored;
    const revision = stored?.applied.revision ?? 0;
    if (expectedRevision !== undefined && expectedRevision !== revision) {
      throw new ConfigConflictError(`revision ${revision} is in force, not ${expectedRevision}`);
    }
    const held = this.#held;
    // Also past what is refused here: others may have it in force.
    const next = Math.max(revision, held?.revision ?? 0) + 1;
    const applied = { config: withoutRuntime(config), revision: next };
    const bytes = this.#encode(applied, by);
    const won =
      held === undefined
        ? await this.#options.store.create(KEY, bytes)
        : await this.#options.store.update(KEY, bytes, held.keyRevision);
    if (won === undefined) throw new ConfigConflictError("another change came first; read the config again");
    this.#accept(applied, won);
    return applied;
  }

  override close(): void {
    this.#watch.unsubscribe();
    for (const timer of this.#timers) clearTimeout(timer);
    super.close();
  }

  #onEntry(value: Uint8Array | undefined, keyRevision: number): void {
    this.#held = undefined;
    if (value === undefined) return;
    const good = this.#good !== undefined && equalBytes(this.#good.value, value) ? this.#good : undefined;
    const applied = good?.applied ?? this.#decode(value);
    const faults = good !== undefined ? [] : applied && this.#options.faultsOf(applied.config);
    this.#held = { keyRevision, revision: applied?.revision ?? 0, refused: faults?.length !== 0 };
    if (applied === undefined || faults === undefined) {
      this.#options.report("warn", "the stored config can't be read; the last good one stays");
      return;
    }
    if (faults.length > 0) {
      this.#options.report(
        "warn",
        `the stored config is refused, the last good one stays: ${faults.join("; ")}`,
      );
      return;
    }
    this.#good = { value, applied };
    const known = this.#stored;
    if (this.#options.writes && known !== undefined && applied.revision < known.applied.revision) {
      this.#putBackOver(keyRevision, known.applied);
      return;
    }
    this.#accept(applied, keyRevision);
  }

  #accept(applied: AppliedConfig, keyRevision: number): void {
    const known = this.#stored;
    this.#held = { keyRevision, revision: applied.revision, refused: false };
    this.#stored = { applied, keyRevision };
    if (known?.applied.revision === applied.revision && known.keyRevision === keyRevision) return;
    this.#options.report("info", `config revision ${applied.revision} is in force`);
    this.replace(applied);
  }

  #onCurrent(): void {
    if (this.#held !== undefined || !this.#options.writes) return;
    const stored = this.#stored;
    if (stored !== undefined) {
      this.#write(stored.applied, PUT_BACK, "the store lost the config; this router put its revision back");
      return;
    }
    this.#after(FILE_COMES_LAST_MS, () => {
      const seed = this.#options.seed;
      if (this.#held !== undefined || this.#stored !== undefined || seed === undefined) return;
      this.#write(
        { config: withoutRuntime(seed), revision: 1 },
        "file",
        "the store was empty; the file seeds it",
      );
    });
  }

  #write(applied: AppliedConfig, by: string, message: string): void {
    const written = this.#options.store.create(KEY, this.#encode(applied, by));
    this.#settle(written, applied, message);
  }

  /** The store was emptied and a file seeded it before this router was back: the highest revision is the cluster's. */
  #putBackOver(keyRevision: number, applied: AppliedConfig): void {
    const written = this.#options.store.update(KEY, this.#encode(applied, PUT_BACK), keyRevision);
    this.#settle(written, applied, "the store held an older revision; this router put its own back");
  }

  #settle(written: Promise<number | undefined>, applied: AppliedConfig, message: string): void {
    const accept = (revision: number | undefined): void => {
      if (revision === undefined) return;
      this.#options.report("info", message);
      this.#accept(applied, revision);
    };
    // When the store is away, its watch tells again once it is back, and this is tried again then.
    void written.then(accept, () => undefined);
  }

  #serveSeed(): void {
    const seed = this.#options.seed;
    if (this.current() !== undefined || seed === undefined) return;
    const why = this.refusesStored ? "what the store holds is refused" : "the store does not answer";
    this.#options.report("warn", `${why}: serving the config file meanwhile`);
    this.replace({ config: withoutRuntime(seed), revision: 0 });
  }

  #decode(value: Uint8Array): AppliedConfig | undefined {
    try {
      const plain = gunzipSync(value, { maxOutputLength: LARGEST_DECODED_BYTES });
      const { config, revision } = fromBinary(StoredConfigSchema, plain);
      return { config: config ?? create(ConfigSchema), revision: Number(revision) };
    } catch {
      return undefined;
    }
  }

  #encode(applied: AppliedConfig, by: string): Uint8Array {
    const stored = create(StoredConfigSchema, {
      config: applied.config,
      revision: BigInt(applied.revision),
      appliedAt: timestampFromMs(this.#options.now()),
      appliedBy: by,
    });
    const bytes = gzipSync(toBinary(StoredConfigSchema, stored));
    if (bytes.length > LARGEST_BYTES) {
      throw new RangeError(`the config is too large for the store: ${bytes.length} bytes compressed`);
    }
    this.#good = { value: bytes, applied };
    return bytes;
  }

  #after(ms: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, ms);
    this.#timers.add(timer);
  }
}
