import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import type { EventBus, Subscription } from "@switchyard/bus";
import { countProbers } from "@switchyard/core";
import type { ProbeClaims } from "@switchyard/core";
import { RouterPresenceSchema } from "@switchyard/proto/events/v1/events";
import { SUBJECTS } from "./subjects.ts";

/** Short, so that whoever starts knows the routers before it matters. */
const REPEAT_MS = 1_000;
/** A router that is silent for this long is gone. */
const SILENT_AFTER_MS = 5_000;
const MOST_ROUTERS = 1_024;
const NO_CLAIMS: ProbeClaims = { wants: new Set(), holds: new Set() };

/** So that what a router says stays small; those beyond are asked for when others are over. */
const MOST_WANTED = 1_000;

/**
 * Says on the bus that a router is there, again and again, and what it `claims` of probes (B4); the returned function
 * says that it leaves.
 */
export function announceRouter(bus: EventBus, router: string, claims?: () => ProbeClaims): () => void {
  const say = (leaving: boolean): void => {
    const { wants, holds } = claims?.() ?? NO_CLAIMS;
    const presence = create(RouterPresenceSchema, {
      router,
      leaving,
      wantsProbes: [...wants].slice(0, MOST_WANTED),
      holdsProbes: [...holds],
    });
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
  readonly #claims = new Map<string, ProbeClaims>();
  #names: readonly string[] = [];
  #probers: ReadonlyMap<string, number> = new Map();

  constructor(bus: EventBus, now: () => number) {
    this.#now = now;
    this.#subscription = bus.subscribe(SUBJECTS.routers, (payload) => this.#onPresence(payload));
  }

  /** In no order. */
  get names(): readonly string[] {
    return this.#names;
  }

  /** B4: what each says of probes, by its name. */
  get claims(): ReadonlyMap<string, ProbeClaims> {
    return this.#claims;
  }

  /** B4: how many routers say that they have traffic for a bench, by its scope key. */
  get probers(): ReadonlyMap<string, number> {
    return this.#probers;
  }

  close(): void {
    this.#subscription.unsubscribe();
  }

  #onPresence(payload: Uint8Array): void {
    const { router, leaving, wantsProbes, holdsProbes } = fromBinary(RouterPresenceSchema, payload);
    const now = this.#now();
    this.#forget(router);
    if (!leaving && this.#heardAt.size < MOST_ROUTERS) {
      this.#heardAt.set(router, now);
      this.#claims.set(router, {
        wants: new Set(wantsProbes.slice(0, MOST_WANTED)),
        holds: new Set(holdsProbes),
      });
    }
    for (const [name, at] of this.#heardAt) if (at + SILENT_AFTER_MS < now) this.#forget(name);
    this.#names = [...this.#heardAt.keys()];
    this.#probers = countProbers(this.#claims.values());
  }

  #forget(router: string): void {
    this.#heardAt.delete(router);
    this.#claims.delete(router);
  }
}
