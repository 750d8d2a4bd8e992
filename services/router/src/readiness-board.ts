import { fromBinary } from "@bufbuild/protobuf";
import type { EventBus, Subscription } from "@switchyard/bus";
import { SUBJECTS } from "@switchyard/cluster";
import { ProviderReadinessSchema } from "@switchyard/proto/events/v1/events";

/** Forwarders repeat themselves every 5 s; one that is silent for three times that is gone. */
const SILENT_AFTER_MS = 15_000;
const MOST_FORWARDERS = 1_024;
const NONE: ReadonlySet<string> = new Set();

/** Which providers lack a credential on every forwarder known (R10). */
export class ReadinessBoard {
  readonly #now: () => number;
  readonly #forwarders = new Map<string, { readonly notReady: ReadonlySet<string>; readonly at: number }>();
  readonly #subscription: Subscription;
  #notReady = NONE;

  constructor(bus: EventBus, now: () => number) {
    this.#now = now;
    this.#subscription = bus.subscribe(SUBJECTS.readiness, (payload) => this.#onReadiness(payload));
  }

  get notReady(): ReadonlySet<string> {
    return this.#notReady;
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  #onReadiness(payload: Uint8Array): void {
    const { forwarder, notReady, leaving } = fromBinary(ProviderReadinessSchema, payload);
    this.#forwarders.delete(forwarder);
    if (!leaving && this.#forwarders.size < MOST_FORWARDERS) {
      this.#forwarders.set(forwarder, { notReady: new Set(notReady), at: this.#now() });
    }
    const oldest = this.#now() - SILENT_AFTER_MS;
    for (const [name, { at }] of this.#forwarders) if (at < oldest) this.#forwarders.delete(name);
    this.#notReady = intersection([...this.#forwarders.values()].map((one) => one.notReady));
  }
}

function intersection(sets: readonly ReadonlySet<string>[]): ReadonlySet<string> {
  const [first, ...others] = sets;
  if (first === undefined || first.size === 0) return NONE;
  return new Set([...first].filter((name) => others.every((other) => other.has(name))));
}
