import { Gathered } from "@switchyard/http1";
import type { Admission } from "./admission.ts";

/** Why a body is not taken. */
export type BodyFault = "too_large" | "overloaded" | "damaged";

/** Gathers a body within bounds. What it holds is counted until `release`. */
export class BodyReader {
  readonly #maxBytes: number;
  readonly #admission: Admission;
  readonly #gathered: Gathered;
  #counted = 0;

  /** `told`: the length that the caller declared. */
  constructor(maxBytes: number, admission: Admission, told?: number) {
    this.#maxBytes = maxBytes;
    this.#admission = admission;
    this.#gathered = new Gathered(told);
  }

  /** Takes a piece; a fault leaves it out. */
  push(piece: Buffer): BodyFault | undefined {
    if (this.#counted + piece.length > this.#maxBytes) return "too_large";
    if (!this.#admission.takeBytes(piece.length)) return "overloaded";
    this.#counted += piece.length;
    this.#gathered.push(piece);
    return undefined;
  }

  /** The body, after its last piece. It stays counted. */
  take(): Buffer {
    return this.#gathered.take();
  }

  /** Nobody holds the body any more. */
  release(): void {
    this.#admission.returnBytes(this.#counted);
    this.#counted = 0;
    this.#gathered.clear();
  }
}
