/** Follows a JSON text that comes in pieces, and tells when its first value, an object or a list, is closed. Does not judge it. */
export class JsonProgress {
  #depth = 0;
  #begun = false;
  #inString = false;
  #escaped = false;

  /** Whether the value is whole. */
  get complete(): boolean {
    return this.#begun && this.#depth === 0;
  }

  push(piece: string): void {
    for (let position = 0; position < piece.length; position++) {
      const code = piece.charCodeAt(position);
      if (this.#inString) {
        if (this.#escaped) this.#escaped = false;
        else if (code === 0x5c) this.#escaped = true;
        else if (code === 0x22) this.#inString = false;
      } else if (code === 0x22) this.#inString = true;
      else if (code === 0x7b || code === 0x5b) {
        this.#depth++;
        this.#begun = true;
      } else if (code === 0x7d || code === 0x5d) this.#depth--;
    }
  }
}
