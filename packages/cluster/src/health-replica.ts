import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Bus, KeyValue, Subscription } from "@switchyard/bus";
import {
  addBench,
  addManualBench,
  benchLookup,
  EMPTY_HEALTH_STATE,
  expire,
  grantProbes,
  mergeHealth,
  reduceAll,
  removeBenches,
  wantsProbes,
} from "@switchyard/core";
import type {
  Bench,
  BenchEntry,
  BenchLookup,
  ConfigSnapshot,
  EpochMs,
  HealthSnapshot,
  HealthState,
  Outcome,
  Reduced,
  Transition,
} from "@switchyard/core";
import { BenchEventSchema, ScopeStateSchema } from "@switchyard/proto/events/v1/events";
import type { ScopeState } from "@switchyard/proto/events/v1/events";
import { entryFromWire, entryToWire, epochMs } from "./benches.ts";
import type { RouterBoard } from "./router-presence.ts";
import { BUCKETS, SUBJECTS } from "./subjects.ts";

const EXPIRE_EVERY_MS = 1_000;
/** Clocks that differ by less are taken for one, since the time under way can't be told from it. */
const SAME_CLOCK_MS = 1_000;
/** Of scopes that others tell of; more than any config has. */
const MOST_SCOPES = 100_000;

export interface HealthReplicaOptions {
  readonly bus: Bus;
  /** Token of NATS subjects, unique in the cluster. */
  readonly name: string;
  readonly now: () => EpochMs;
  /** Called with what this replica changed itself, not with what it heard. */
  readonly onTransitions?: (transitions: readonly Transition[]) => void;
  /** Called after every change, whoever made it. */
  readonly onChange?: (snapshot: HealthSnapshot, keys: readonly string[]) => void;
  /**
   * `keeps`: this replica reduces what the whole cluster reports, so it writes the store and tells everybody.
   * `follows`: it tells others only of benches that no outcome shows (E2).
   */
  readonly role: "keeps" | "follows";
  /** B4: the live routers, for whoever keeps: each bench that may be probed names one of them. */
  readonly routers?: Pick<RouterBoard, "names" | "claims">;
}

/**
 * One replica of the cluster's benches. Replicas exchange what they know and join it, so that they agree however
 * messages come, and each goes on alone on its own observations while the bus is away (B6).
 */
export class HealthReplica {
  readonly #options: HealthReplicaOptions;
  readonly #store: KeyValue;
  readonly #subscriptions: Subscription[];
  readonly #timer: NodeJS.Timeout;
  /** What the store holds, as last heard. */
  readonly #stored = new Map<string, BenchEntry>();
  #state: HealthState = EMPTY_HEALTH_STATE;
  #lookup: BenchLookup = () => undefined;
  #probes = false;

  constructor(options: HealthReplicaOptions) {
    this.#options = options;
    this.#store = options.bus.keyValue(BUCKETS.health);
    this.#subscriptions = [
      options.bus.subscribe(SUBJECTS.benches, (payload) => this.#onEvent(payload)),
      this.#store.watch({
        onEntry: (key, value) => {
          if (value === undefined) this.#stored.delete(key);
          else this.#onStored(key, value);
        },
        onCurrent: () => this.#keep(this.#notStored()),
      }),
    ];
    this.#timer = setInterval(() => this.#expire(), EXPIRE_EVERY_MS);
    this.#timer.unref();
  }

  get snapshot(): HealthSnapshot {
    return this.#state.snapshot;
  }

  /** Outcomes are judged by the policies of this config from now on. */
  useConfig(config: ConfigSnapshot): void {
    this.#lookup = benchLookup(config);
    this.#probes = wantsProbes(config);
  }

  /** Takes in how attempts ended. Repeated outcomes change nothing. */
  observe(outcomes: Iterable<Outcome>): void {
    const reduced = reduceAll(this.#state, outcomes, this.#lookup, this.#options.now());
    this.#apply(reduced, this.#options.role === "keeps");
  }

  /** E2: a decision benched something that no outcome shows, so everybody is told. */
  bench(bench: Bench): void {
    this.#apply(addBench(this.#state, bench, this.#options.now()), true);
  }

  benchByHand(bench: Bench): void {
    this.#apply(addManualBench(this.#state, bench), true);
  }

  /** Whether something was benched. */
  unbench(key: string): boolean {
    const reduced = removeBenches(this.#state, key, this.#options.now());
    this.#apply(reduced, false);
    this.#tell([key]);
    return reduced.transitions.length > 0;
  }

  close(): void {
    clearInterval(this.#timer);
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  #apply(reduced: Reduced, tell: boolean): void {
    this.#state = reduced.state;
    const { transitions } = reduced;
    if (transitions.length === 0) return;
    const keys = [...new Set([...transitions.map(({ bench }) => bench.key), ...this.#grant()])];
    if (tell) this.#tell(keys);
    this.#options.onTransitions?.(transitions);
    this.#options.onChange?.(this.snapshot, keys);
  }

  /** B4: names who may probe; the scopes at which that changed. */
  #grant(): readonly string[] {
    const { role, routers, now } = this.#options;
    if (role !== "keeps" || routers === undefined || !this.#probes) return [];
    const before = this.snapshot;
    const snapshot = grantProbes(before, routers.names, now(), routers.claims);
    if (snapshot === before) return [];
    this.#state = { ...this.#state, snapshot };
    return [...snapshot.benches.keys()].filter(
      (key) => snapshot.benches.get(key) !== before.benches.get(key),
    );
  }

  #tell(keys: readonly string[]): void {
    const now = this.#options.now();
    const event = create(BenchEventSchema, {
      source: this.#options.name,
      sentAt: timestampFromMs(Math.round(now)),
      scopes: keys.map((key) => this.#scopeState(key, now)).filter((scope) => scope !== undefined),
    });
    this.#options.bus.publish(SUBJECTS.benchesOf(this.#options.name), toBinary(BenchEventSchema, event));
    if (this.#options.role === "keeps") this.#keep(keys);
  }

  #keep(keys: readonly string[]): void {
    const now = this.#options.now();
    for (const key of keys) {
      const scope = this.#scopeState(key, now);
      const written =
        scope === undefined
          ? this.#store.delete(key)
          : this.#store.put(key, toBinary(ScopeStateSchema, scope));
      // A store that is away is told what it lacks when it comes back, and benches end by themselves.
      void Promise.resolve(written).catch(() => undefined);
    }
  }

  #scopeState(key: string, now: EpochMs): ScopeState | undefined {
    const entry = this.snapshot.benches.get(key);
    return entry === undefined ? undefined : entryToWire(key, entry, now);
  }

  #onEvent(payload: Uint8Array): void {
    const event = fromBinary(BenchEventSchema, payload);
    const apart = event.sentAt === undefined ? 0 : this.#options.now() - epochMs(event.sentAt);
    const shift = Math.abs(apart) < SAME_CLOCK_MS ? 0 : apart;
    const changed = this.#join(event.scopes.map((scope) => [scope.key, entryFromWire(scope, shift)]));
    // What a router benched by itself (E2) is kept for those who start later.
    if (this.#options.role === "keeps") this.#keep(changed);
  }

  /**
   * What this replica found out, or was told by a person, while the store was away or before it lost everything. Any
   * replica tells it then: nobody else may know (B6).
   */
  #notStored(): readonly string[] {
    const { benches, version } = this.snapshot;
    return [...benches.keys()].filter((key) => {
      const stored = this.#stored.get(key);
      if (stored === undefined) return true;
      const held = { version, benches: new Map([[key, stored]]) };
      return (
        mergeHealth(held, { version, benches: new Map([[key, benches.get(key) as BenchEntry]]) }) !== held
      );
    });
  }

  #onStored(key: string, value: Uint8Array): void {
    const scope = fromBinary(ScopeStateSchema, value);
    const apart = scope.writtenAt === undefined ? 0 : this.#options.now() - epochMs(scope.writtenAt);
    // What was written long ago tells nothing of clocks; what was written in the future shows one that is ahead, and
    // its benches would last too long here.
    const entry = entryFromWire(scope, apart < -SAME_CLOCK_MS ? apart : 0);
    this.#stored.set(key, entry);
    this.#join([[scope.key, entry]]);
  }

  #join(entries: readonly (readonly [string, BenchEntry])[]): readonly string[] {
    const before = this.snapshot;
    const room = before.benches.size + entries.length <= MOST_SCOPES;
    const taken = room ? entries : entries.filter(([key]) => before.benches.has(key));
    const snapshot = mergeHealth(before, { version: before.version, benches: new Map(taken) });
    if (snapshot === before) return [];
    const keys = taken
      .map(([key]) => key)
      .filter((key) => snapshot.benches.get(key) !== before.benches.get(key));
    this.#state = { ...this.#state, snapshot };
    this.#options.onChange?.(snapshot, keys);
    return keys;
  }

  #expire(): void {
    const before = this.snapshot;
    const reduced = expire(this.#state, this.#options.now());
    this.#state = reduced.state;
    if (reduced.transitions.length > 0) this.#options.onTransitions?.(reduced.transitions);
    const granted = this.#grant();
    if (this.snapshot === before) return;
    const gone = [...before.benches.keys()].filter((key) => !this.snapshot.benches.has(key));
    if (this.#options.role === "keeps") this.#keep(gone);
    if (granted.length > 0) this.#tell(granted);
    this.#options.onChange?.(this.snapshot, [...gone, ...granted]);
  }
}
