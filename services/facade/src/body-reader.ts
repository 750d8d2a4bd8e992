import type { Admission } from "./admission.ts";

/** Why a body is not taken. */
export type BodyFault = "too_large" | "overloaded" | "damaged";

/** A told length is believed up to this many times what has come: memory is not held for bytes that never come. */
const TRUST = 4;

/**
 * Gathers a body. One that comes in one piece is passed on as it is. Of several, each is copied to its place as it
 * comes where the length was told, so that what was read is soon free again; else all are joined at the end. What it
 * holds is counted until `release`.
 */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #admission: Admission;
  readonly #told: number | undefined;
  #pieces: Uint8Array[] = [];
  #whole: Buffer | undefined;
  #received = 0;

  /** `told`: the length that the caller declared. */
  constructor(maxBytes: number, admission: Admission, told?: number) {
    this.#maxBytes = maxBytes;
    this.#admission = admission;
    this.#told = told;
  }

  /** Takes a piece; a fault leaves it out. */
  push(piece: Uint8Array): BodyFault | undefined {
    const before = this.#received;
    const received = before + piece.length;
    if (received > this.#maxBytes) return "too_large";
    if (!this.#admission.takeBytes(piece.length)) return "overloaded";
    this.#received = received;
    if (this.#told === undefined || before === 0) this.#pieces.push(piece);
    else this.#roomFor(received, before, this.#told).set(piece, before);
    return undefined;
  }

  /** The body, after its last piece. It stays counted. */
  take(): Uint8Array {
    const whole = this.#whole;
    this.#whole = undefined;
    if (whole !== undefined)
      return whole.length === this.#received ? whole : whole.subarray(0, this.#received);
    const pieces = this.#pieces;
    this.#pieces = [];
    return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces, this.#received);
  }

  /** Nobody holds the body any more. */
  release(): void {
    this.#admission.returnBytes(this.#received);
    this.#received = 0;
    this.#pieces = [];
    this.#whole = undefined;
  }

  #roomFor(received: number, before: number, told: number): Buffer {
    const old = this.#whole;
    if (old !== undefined && old.length >= received) return old;
    const room = Buffer.allocUnsafeSlow(Math.max(received, Math.min(told, received * TRUST)));
    if (old === undefined) room.set(this.#pieces[0] as Uint8Array);
    else room.set(old.subarray(0, before));
    this.#pieces = [];
    this.#whole = room;
    return room;
  }
}
