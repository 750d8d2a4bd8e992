import { encodeUtf8 } from "./text.ts";

interface Entry {
  readonly bytes: Uint8Array;
  readonly index: number;
}

/**
 * The keys that a scan looks for. Looking up is by length, then byte by byte, so an unknown key costs one comparison.
 * A key may also be watched *folded*: a spelling of it in other case gets an index of its own. Some providers' decoders (Go's) take
 * `"Model"` for `"model"`, so the gateway must see it.
 */
export class KeyTable {
  /** Number of indexes, thus of slots that a scan fills. */
  readonly size: number;
  readonly #byLength: Entry[][] = [];
  readonly #byText = new Map<string, number>();
  readonly #folded: { readonly text: string; readonly index: number } | undefined;

  /** `keys` get the indexes 0, 1, …; `folded`, one of them, gets the next index for its other spellings. */
  constructor(keys: readonly string[], folded?: string) {
    for (const [index, key] of keys.entries()) {
      const bytes = encodeUtf8(key);
      (this.#byLength[bytes.length] ??= []).push({ bytes, index });
      this.#byText.set(key, index);
    }
    for (let length = 0; length < this.#byLength.length; length++) this.#byLength[length] ??= [];
    this.#folded = folded === undefined ? undefined : { text: folded, index: keys.length };
    this.size = keys.length + (folded === undefined ? 0 : 1);
  }

  /** The index of the key whose raw bytes, free of escapes, are this range, or -1. */
  find(bytes: Uint8Array, start: number, end: number): number {
    const length = end - start;
    if (length >= this.#byLength.length) return -1;
    const entries = this.#byLength[length] as Entry[];
    for (let place = 0; place < entries.length; place++) {
      const entry = entries[place] as Entry;
      let offset = 0;
      while (offset < length && bytes[start + offset] === entry.bytes[offset]) offset++;
      if (offset === length) return entry.index;
    }
    if (this.#folded !== undefined && length === this.#folded.text.length) {
      for (let offset = 0; offset < length; offset++) {
        if (((bytes[start + offset] as number) | 0x20) !== this.#folded.text.charCodeAt(offset)) return -1;
      }
      return this.#folded.index;
    }
    return -1;
  }

  /** The same for a key that had escapes, decoded. */
  findText(key: string): number {
    const index = this.#byText.get(key);
    if (index !== undefined) return index;
    return this.#folded !== undefined && key.toLowerCase() === this.#folded.text ? this.#folded.index : -1;
  }
}
