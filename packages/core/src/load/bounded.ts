/** Sets a key of a map of at most `most` entries: what was set longest ago gives way. */
export function setBounded<Key, Value>(map: Map<Key, Value>, key: Key, value: Value, most: number): void {
  // Deleted first, so that what was used last stands last.
  map.delete(key);
  map.set(key, value);
  if (map.size <= most) return;
  const oldest = map.keys().next();
  if (oldest.done !== true) map.delete(oldest.value);
}

/** Remembers the latest ids, between `most` and twice as many, so that what comes twice counts once. */
export class RecentIds {
  readonly #most: number;
  #young = new Set<string>();
  #old: ReadonlySet<string> = new Set<string>();

  constructor(most: number) {
    this.#most = most;
  }

  /** Whether the id is new; it is known from then on. */
  add(id: string): boolean {
    if (this.#young.has(id) || this.#old.has(id)) return false;
    this.#young.add(id);
    if (this.#young.size >= this.#most) {
      this.#old = this.#young;
      this.#young = new Set();
    }
    return true;
  }
}

/** Remembers what was set last, between `most` and twice as many; unlike a map that is emptied from its front, at once. */
export class RecentMap<Value> {
  readonly #most: number;
  #young = new Map<string, Value>();
  #old = new Map<string, Value>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: string): Value | undefined {
    return this.#young.get(key) ?? this.#old.get(key);
  }

  set(key: string, value: Value): void {
    this.#young.set(key, value);
    if (this.#young.size < this.#most) return;
    this.#old = this.#young;
    this.#young = new Map();
  }

  delete(key: string): void {
    this.#young.delete(key);
    this.#old.delete(key);
  }
}
