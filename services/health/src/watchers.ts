import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { benchToWire, entryToWire } from "@switchyard/cluster";
import { activeBenches } from "@switchyard/core";
import type { HealthSnapshot } from "@switchyard/core";
import { BenchEventSchema } from "@switchyard/proto/events/v1/events";
import {
  BenchStateSchema,
  WatchBenchesResponseSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import type { WatchBenchesResponse } from "@switchyard/proto/health/v1/health_state_service";
import { failure } from "@switchyard/rpc";
import type { Call, Sink } from "@switchyard/rpc";

const MOST_WATCHERS = 1_024;

/** Who watches the benches. A watcher that reads too slowly is told the whole state again instead of every change. */
export class Watchers {
  readonly #now: () => number;
  readonly #watchers = new Set<Watcher>();

  constructor(now: () => number) {
    this.#now = now;
  }

  add(sink: Sink<WatchBenchesResponse>, call: Call, snapshot: () => HealthSnapshot): void {
    if (this.#watchers.size >= MOST_WATCHERS) {
      sink.fail(failure("overloaded", "too many watchers", { status: 503 }));
      return;
    }
    const watcher: Watcher = { sink, full: false };
    this.#watchers.add(watcher);
    call.onCancel(() => this.#watchers.delete(watcher));
    sink.onDrain(() => {
      watcher.full = !sink.send(this.#state(snapshot()));
    });
    watcher.full = !sink.send(this.#state(snapshot()));
  }

  tell(snapshot: HealthSnapshot, keys: readonly string[]): void {
    if (this.#watchers.size === 0) return;
    const now = this.#now();
    const scopes = keys.flatMap((key) => {
      const entry = snapshot.benches.get(key) ?? NOTHING;
      return [entryToWire(key, entry, now)];
    });
    const value = create(BenchEventSchema, { scopes, sentAt: timestampFromMs(Math.round(now)) });
    const message = create(WatchBenchesResponseSchema, { update: { case: "change", value } });
    for (const watcher of this.#watchers) {
      if (!watcher.full) watcher.full = !watcher.sink.send(message);
    }
  }

  /** Ends every watch: watchers connect elsewhere. */
  close(): void {
    for (const { sink } of this.#watchers) sink.end();
    this.#watchers.clear();
  }

  #state(snapshot: HealthSnapshot): WatchBenchesResponse {
    const now = this.#now();
    const benches = activeBenches(snapshot, now).map((bench) => benchToWire(bench, now));
    return create(WatchBenchesResponseSchema, {
      update: { case: "state", value: create(BenchStateSchema, { benches }) },
    });
  }
}

interface Watcher {
  readonly sink: Sink<WatchBenchesResponse>;
  full: boolean;
}

const NOTHING = { policy: undefined, manual: undefined, policyClearedAt: 0, manualClearedAt: 0 };
