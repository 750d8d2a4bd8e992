import type { Admission } from "./admission.ts";

/** Why a body is not taken. */
export type BodyFault = "too_large" | "overloaded" | "damaged";

/**
 * Gathers a body into one buffer with the fewest copies: a body that comes in one piece is passed on as it is, one of
 * known length is filled in as it comes. What it holds is counted until `release`.
 */
export class BodyReader {
  readonly #declared: number | undefined;
  readonly #maxBytes: number;
  readonly #admission: Admission;
  readonly #pieces: Uint8Array[] = [];
  #whole: Buffer | undefined;
  #received = 0;

  constructor(declared: number | undefined, maxBytes: number, admission: Admission) {
    this.#declared = declared;
    this.#maxBytes = maxBytes;
    this.#admission = admission;
  }

  /** Takes a piece; a fault leaves it out. */
  push(piece: Buffer): BodyFault | undefined {
    const before = this.#received;
    const received = before + piece.length;
    if (received > this.#maxBytes) return "too_large";
    if (!this.#admission.takeBytes(piece.length)) return "overloaded";
    this.#received = received;
    if (this.#declared === undefined) {
      this.#pieces.push(piece);
    } else if (before === 0 && received === this.#declared) {
      this.#whole = piece;
    } else {
      this.#whole ??= Buffer.allocUnsafeSlow(this.#declared);
      piece.copy(this.#whole, before);
    }
    return undefined;
  }

  /** The body, after its last piece. */
  take(): Uint8Array {
    if (this.#whole !== undefined) return this.#whole;
    const only = this.#pieces.length === 1 ? this.#pieces[0] : undefined;
    const whole = only ?? Buffer.concat(this.#pieces, this.#received);
    this.#pieces.length = 0;
    return whole;
  }

  /** Nobody holds the body any more. */
  release(): void {
    this.#admission.returnBytes(this.#received);
    this.#received = 0;
    this.#whole = undefined;
    this.#pieces.length = 0;
  }
}
