const HEAD_PREFIX = Buffer.from("HTTP/1.1 100");
const STATUS_AT = 9;
const MAX_INTERIM_BYTES = 4096;
const HEAD_END = "\r\n\r\n";

/**
 * Takes interim `100 Continue` heads out of what is read of one response, and knows whether any byte of it came.
 * RFC 9110, section 15.2: a client reads over a 100 that it did not ask for; undici ends the connection instead.
 */
export class InterimFilter {
  #atHead = false;
  #held: Buffer | null = null;
  #byteSeen = false;

  /** Whether a byte came since `expectHead`. */
  get byteSeen(): boolean {
    return this.#byteSeen;
  }

  /** A request goes out: the next bytes are its response's. */
  expectHead(): void {
    this.#atHead = true;
    this.#held = null;
    this.#byteSeen = false;
  }

  /** What is left of a chunk; null where there is nothing to pass on yet. */
  pass(chunk: Buffer): Buffer | null {
    this.#byteSeen = true;
    if (!this.#atHead) {
      return chunk;
    }
    let rest = this.#held === null ? chunk : Buffer.concat([this.#held, chunk]);
    this.#held = null;
    while (isInterim(rest)) {
      const end = rest.indexOf(HEAD_END, 0, "latin1");
      if (end === -1) {
        return this.#hold(rest);
      }
      rest = rest.subarray(end + HEAD_END.length);
      if (rest.length === 0) {
        return null;
      }
    }
    if (mayBecomeInterim(rest)) {
      return this.#hold(rest);
    }
    this.#atHead = false;
    return rest;
  }

  #hold(rest: Buffer): Buffer | null {
    if (rest.length > MAX_INTERIM_BYTES) {
      this.#atHead = false;
      return rest;
    }
    this.#held = rest;
    return null;
  }
}

function isInterim(bytes: Buffer): boolean {
  return bytes.length >= HEAD_PREFIX.length && bytes[STATUS_AT] === 0x31 && sharesPrefix(bytes);
}

function mayBecomeInterim(bytes: Buffer): boolean {
  return bytes.length < HEAD_PREFIX.length && sharesPrefix(bytes);
}

function sharesPrefix(bytes: Buffer): boolean {
  const length = Math.min(bytes.length, HEAD_PREFIX.length);
  return HEAD_PREFIX.compare(bytes, 0, length, 0, length) === 0;
}
