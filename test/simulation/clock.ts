/** What is due, in order of time; of the same time in the order in which it was asked for. */
export class SimulatedClock {
  readonly #heap: Due[] = [];
  #serial = 0;
  #now: number;

  constructor(start: number) {
    this.#now = start;
  }

  get now(): number {
    return this.#now;
  }

  /** Runs `what` in `ms`. */
  after(ms: number, what: () => void): void {
    const due = { at: this.#now + Math.max(0, ms), serial: this.#serial, what };
    this.#serial += 1;
    this.#push(due);
  }

  /** Runs `what` every `ms` from now until `end`. */
  every(ms: number, end: number, what: () => void): void {
    this.after(ms, () => {
      what();
      if (this.#now + ms <= end) this.every(ms, end, what);
    });
  }

  /** Runs all that is due until nothing is left. */
  run(): void {
    for (let due = this.#pop(); due !== undefined; due = this.#pop()) {
      this.#now = due.at;
      due.what();
    }
  }

  #push(due: Due): void {
    const heap = this.#heap;
    heap.push(due);
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (!isBefore(heap[at] as Due, heap[parent] as Due)) return;
      swap(heap, at, parent);
      at = parent;
    }
  }

  #pop(): Due | undefined {
    const heap = this.#heap;
    const first = heap[0];
    const last = heap.pop();
    if (first === undefined || last === undefined || heap.length === 0) return first;
    heap[0] = last;
    for (let at = 0; ; ) {
      let least = at;
      for (const child of [2 * at + 1, 2 * at + 2]) {
        if (child < heap.length && isBefore(heap[child] as Due, heap[least] as Due)) least = child;
      }
      if (least === at) return first;
      swap(heap, at, least);
      at = least;
    }
  }
}

interface Due {
  readonly at: number;
  readonly serial: number;
  readonly what: () => void;
}

function isBefore(left: Due, right: Due): boolean {
  return left.at < right.at || (left.at === right.at && left.serial < right.serial);
}

function swap(heap: Due[], left: number, right: number): void {
  const kept = heap[left] as Due;
  heap[left] = heap[right] as Due;
  heap[right] = kept;
}
