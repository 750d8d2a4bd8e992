import { callSafely, type ListenerErrorSink } from "../listeners.ts";

/** One turn of the event loop may hold this many undelivered calls. */
const MAX_QUEUED = 65_536;

/**
 * Calls listeners in order, off the stack of whoever caused the call: in a microtask, or in the next turn for what
 * listeners themselves cause, so that two listeners answering each other cannot starve the process.
 */
export class DeliveryQueue {
  #queue: (() => void)[] = [];
  #scheduled = false;
  #delivering = false;
  readonly #sink: ListenerErrorSink;

  constructor(sink: ListenerErrorSink) {
    this.#sink = sink;
  }

  /** Queues a message; false when there is no room for it. */
  offer(call: () => void): boolean {
    if (this.#queue.length >= MAX_QUEUED) return false;
    this.push(call);
    return true;
  }

  /** Queues what must not be lost: a change of state, whose number the store bounds. */
  push(call: () => void): void {
    this.#queue.push(call);
    if (this.#scheduled) return;
    this.#scheduled = true;
    if (this.#delivering) setImmediate(() => this.#deliver());
    else queueMicrotask(() => this.#deliver());
  }

  #deliver(): void {
    const batch = this.#queue;
    this.#queue = [];
    this.#scheduled = false;
    this.#delivering = true;
    for (const call of batch) callSafely(this.#sink, call);
    this.#delivering = false;
  }
}
