import type { Admission } from "./admission.ts";

/** Why a body is not taken. */
export type BodyFault = "too_large" | "overloaded" | "damaged";

/**
 * Gathers a body. One that comes in one piece is passed on as it is; of several each byte is copied once, at the end:
 * filling in a buffer of the told length costs more, and would hold memory for bytes that never come. What it holds is
 * counted until `release`.
 */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #admission: Admission;
  #pieces: Uint8Array[] = [];
  #received = 0;

  constructor(maxBytes: number, admission: Admission) {
    this.#maxBytes = maxBytes;
    this.#admission = admission;
  }

  /** Takes a piece; a fault leaves it out. */
  push(piece: Uint8Array): BodyFault | undefined {
    const received = this.#received + piece.length;
    if (received > this.#maxBytes) return "too_large";
    if (!this.#admission.takeBytes(piece.length)) return "overloaded";
    this.#received = received;
    this.#pieces.push(piece);
    return undefined;
  }

  /** The body, after its last piece. It stays counted. */
  take(): Uint8Array {
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, this.#received);
  }

  /** Nobody holds the body any more. */
  release(): void {
    this.#admission.returnBytes(this.#received);
    this.#received = 0;
    this.#pieces = [];
  }
}
