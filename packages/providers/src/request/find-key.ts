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
    const word = this.#word;
    const last = word.length - 1;
    let position = from + last;
    while (position < bytes.length) {
      const skip = this.#skip[bytes[position] as number] as number;
      if (skip > 0) {
        position += skip;
        continue;
      }
      if (rangeEquals(bytes, position - last, position + 1, word)) {
        const colon = skipSpace(bytes, position + 1, bytes.length);
        const value = bytes[colon] === COLON ? skipSpace(bytes, colon + 1, bytes.length) : -1;
        if (value > 0 && bytes[value] === QUOTE) return value;
      }
      position++;
    }
    return -1;
  }
}
