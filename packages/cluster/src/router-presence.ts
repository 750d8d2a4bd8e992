import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { EventBus, Subscription } from "@switchyard/bus";
import { RouterPresenceSchema } from "@switchyard/proto/events/v1/events";
import { SUBJECTS } from "./subjects.ts";

/** Short, so that whoever starts knows the routers before it matters. */
const REPEAT_MS = 1_000;
/** A router that is silent for this long is gone. */
const SILENT_AFTER_MS = 5_000;
const MOST_ROUTERS = 1_024;

/** Says on the bus that a router is there, again and again; the returned function says that it leaves. */
export function announceRouter(bus: EventBus, router: string): () => void {
  const say = (leaving: boolean): void => {
    const presence = create(RouterPresenceSchema, { router, leaving });
    bus.publish(SUBJECTS.routersOf(router), toBinary(RouterPresenceSchema, presence));
  };
  say(false);
  const timer = setInterval(() => say(false), REPEAT_MS);
  timer.unref();
  return () => {
    clearInterval(timer);
    say(true);
  };
}

/**
 * The routers of the cluster, as heard. While the bus is away nobody is heard and nobody is taken for gone: the budgets
 * that routers share then stay shared.
 */
export class RouterBoard {
  readonly #now: () => number;
  readonly #heardAt = new Map<string, number>();
  readonly #subscription: Subscription;
  #names: readonly string[] = [];

  constructor(bus: EventBus, now: () => number) {
    this.#now = now;
    this.#subscription = bus.subscribe(SUBJECTS.routers, (payload) => this.#onPresence(payload));
  }

  /** In no order. */
  get names(): readonly string[] {
    return this.#names;
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  #onPresence(payload: Uint8Array): void {
    const { router, leaving } = fromBinary(RouterPresenceSchema, payload);
    const now = this.#now();
    this.#heardAt.delete(router);
    if (!leaving && this.#heardAt.size < MOST_ROUTERS) this.#heardAt.set(router, now);
    for (const [name, at] of this.#heardAt) if (at + SILENT_AFTER_MS < now) this.#heardAt.delete(name);
    this.#names = [...this.#heardAt.keys()];
  }
}
