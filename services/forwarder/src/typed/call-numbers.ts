interface OpenCall {
  readonly number: number;
  readonly id: string;
}

/** Numbers the calls of a stream's answers from 0. Some servers give no index, or one for all: then a new id is a new call. */
export class CallNumbers {
  readonly #open = new Map<string, OpenCall>();
  readonly #counts = new Map<number, number>();

  /** `index`: the server's own, or the place among the pieces that came together. */
  numberOf(choice: number, index: number, id: string | undefined): number {
    const key = `${choice}/${index}`;
    const open = this.#open.get(key);
    if (open !== undefined && (id === undefined || id === "" || id === open.id)) return open.number;
    const number = this.#counts.get(choice) ?? 0;
    this.#counts.set(choice, number + 1);
    this.#open.set(key, { number, id: id ?? "" });
    return number;
  }
}
