/** A told length is believed up to this many times what has come: memory is not held for bytes that never come. */
const TRUST = 4;
/** Where none was told there is room for as much again. */
const GROWTH = 2;

/**
 * Bytes that come in pieces. What comes in one piece stays as it is; of several each is copied to its place as it comes, so
 * that what was read is soon free again and many small pieces cost no more than their bytes.
 */
export class Gathered {
  readonly #told: number | undefined;
  #first: Buffer | undefined;
  #whole: Buffer | undefined;
  #length = 0;

  /** `told`: how many bytes there will be, where somebody says so. */
  constructor(told?: number) {
    this.#told = told;
  }

  get length(): number {
    return this.#length;
  }

  push(piece: Buffer): void {
    const before = this.#length;
    this.#length += piece.length;
    if (before === 0) this.#first = piece;
    else this.#room(before).set(piece, before);
  }

  /** All of it, in one piece; nothing is held any more. */
  take(): Buffer {
    const whole = this.#whole?.subarray(0, this.#length) ?? this.#first ?? Buffer.alloc(0);
    this.clear();
    return whole;
  }

  clear(): void {
    this.#first = undefined;
    this.#whole = undefined;
    this.#length = 0;
  }

  #room(before: number): Buffer {
    const old = this.#whole;
    const needed = this.#length;
    if (old !== undefined && old.length >= needed) return old;
    const wanted = this.#told === undefined ? needed * GROWTH : Math.min(this.#told, needed * TRUST);
    const room = Buffer.allocUnsafeSlow(Math.max(needed, wanted));
    room.set(old?.subarray(0, before) ?? (this.#first as Buffer));
    this.#first = undefined;
    this.#whole = room;
    return room;
  }
}
