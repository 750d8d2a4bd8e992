/** May be in one roster at a time. */
export interface Rostered {
  /** Where it stands in the roster, -1 outside; the roster's to set. */
  place: number;
}

/**
 * What runs now, in no order. A `Set` that things enter and leave at each request grows a chain of dead tables, which
 * the collector keeps for long and moves each time.
 */
export class Roster<T extends Rostered> {
  readonly #members: T[] = [];

  get size(): number {
    return this.#members.length;
  }

  add(one: T): void {
    one.place = this.#members.push(one) - 1;
  }

  /** Whether it was in. */
  delete(one: T): boolean {
    const { place } = one;
    if (place === -1) {
      return false;
    }
    one.place = -1;
    const last = this.#members.pop() as T;
    if (last !== one) {
      this.#members[place] = last;
      last.place = place;
    }
    return true;
  }

  /** The members of this moment. */
  all(): readonly T[] {
    return [...this.#members];
  }
}
