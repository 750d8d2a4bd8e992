import type { Effect, LoadSnapshot } from "@switchyard/core";

const MOST_PLACES = 10_000;

/** The only place that changes what changes from decision to decision; effects are applied in the decision's own turn. */
export class Ledger {
  readonly #places = new Map<string, number>();
  readonly #notReady: () => ReadonlySet<string>;

  constructor(notReady: () => ReadonlySet<string>) {
    this.#notReady = notReady;
  }

  /** What a decision goes by. */
  load(): LoadSnapshot {
    return { notReady: this.#notReady(), places: this.#places };
  }

  apply(effects: readonly Effect[]): void {
    for (const effect of effects) if (effect.kind === "place") this.#move(effect.place, effect.value);
  }

  #move(place: string, value: number): void {
    // Deleted first, so that the places used last stand last and the oldest give way.
    this.#places.delete(place);
    this.#places.set(place, value);
    if (this.#places.size > MOST_PLACES) {
      const oldest = this.#places.keys().next().value;
      if (oldest !== undefined) this.#places.delete(oldest);
    }
  }
}
