/** Bounds on what all requests together hold: their number and the bytes of their bodies (P7). */
export class Admission {
  readonly #maxRequests: number;
  readonly #maxBytes: number;
  #requests = 0;
  #bytes = 0;

  constructor(maxRequests: number, maxBytes: number) {
    this.#maxRequests = maxRequests;
    this.#maxBytes = maxBytes;
  }

  /** False: full, and nothing was taken. */
  enter(): boolean {
    if (this.#requests >= this.#maxRequests) return false;
    this.#requests += 1;
    return true;
  }

  leave(): void {
    this.#requests -= 1;
  }

  /** False: full, and nothing was taken. */
  takeBytes(count: number): boolean {
    if (this.#bytes + count > this.#maxBytes) return false;
    this.#bytes += count;
    return true;
  }

  returnBytes(count: number): void {
    this.#bytes -= count;
  }

  get bytes(): number {
    return this.#bytes;
  }
}
