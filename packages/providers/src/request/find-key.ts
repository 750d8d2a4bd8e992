import { skipSpace } from "../json/skip.ts";
import { encodeUtf8, rangeEquals } from "../json/text.ts";

const COLON = 0x3a;
const QUOTE = 0x22;

/**
 * Finds the values of one key wherever it stands in a JSON text, without reading the text: a whole key's length a step (nearly no body
 * has it, and all pay for the looking). Inside a string the quote at its end would be escaped, so what is found is a key.
 */
export class KeyFinder {
  readonly #word: Uint8Array;
  /** How far the end of the window may move for the byte that it ends on: 0 where it may be the word's last one. */
  readonly #skip: Uint8Array;

  constructor(key: string) {
    const word = encodeUtf8(`"${key}"`);
    this.#word = word;
    this.#skip = new Uint8Array(256).fill(word.length);
    for (const [place, byte] of word.entries()) this.#skip[byte] = word.length - 1 - place;
  }

  /** Position of the opening quote of the key's next value that is a string, from `from` on; -1 without one. */
  next(bytes: Uint8Array, from: number): number {
    for (let at = this.#find(bytes, from, bytes.length); at >= 0; at = this.#find(bytes, at, bytes.length)) {
      const colon = skipSpace(bytes, at, bytes.length);
      const value = bytes[colon] === COLON ? skipSpace(bytes, colon + 1, bytes.length) : -1;
      if (value > 0 && bytes[value] === QUOTE) return value;
    }
    return -1;
  }

  /** Whether the word stands in the text at all, as a key or as a value. */
  isIn(bytes: Uint8Array, from: number, limit: number): boolean {
    return this.#find(bytes, from, limit) >= 0;
  }

  /** The position after the next occurrence, quotes included; -1 without one. */
  #find(bytes: Uint8Array, from: number, limit: number): number {
    const word = this.#word;
    const last = word.length - 1;
    let position = from + last;
    while (position < limit) {
      const skip = this.#skip[bytes[position] as number] as number;
      if (skip === 0 && rangeEquals(bytes, position - last, position + 1, word)) return position + 1;
      position += skip || 1;
    }
    return -1;
  }
}
