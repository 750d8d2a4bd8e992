import type { Subscription } from "./bus.ts";

/** Where the exceptions of listeners go. */
export type ListenerErrorSink = (error: unknown) => void;

/** Runs foreign code so that its exception harms nobody else. */
export function callSafely(sink: ListenerErrorSink, call: () => void): void {
  try {
    call();
  } catch (error) {
    try {
      sink(error);
    } catch {
      // A sink that throws has no one left to tell.
    }
  }
}

/** A set of listeners of one kind. */
export class Listeners<T> {
  readonly #listeners = new Set<{ call: (value: T) => void }>();
  readonly #sink: ListenerErrorSink;

  constructor(sink: ListenerErrorSink) {
    this.#sink = sink;
  }

  add(call: (value: T) => void): Subscription {
    const entry = { call };
    this.#listeners.add(entry);
    return { unsubscribe: () => void this.#listeners.delete(entry) };
  }

  tell(value: T): void {
    for (const entry of this.#listeners) callSafely(this.#sink, () => entry.call(value));
  }

  clear(): void {
    this.#listeners.clear();
  }
}
