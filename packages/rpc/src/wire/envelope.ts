export const envelopeBytes = 5;
export const compressedFlag = 1;
export const endStreamFlag = 2;

/** The five bytes before each message of a stream: flags, and its length. */
export function envelopeHead(flags: number, length: number): Buffer {
  const head = Buffer.allocUnsafe(envelopeBytes);
  head[0] = flags;
  head.writeUInt32BE(length, 1);
  return head;
}

/** Cuts a stream of bytes into its messages, without copying those that came in one piece. */
export class EnvelopeReader {
  readonly #maxBytes: number;
  readonly #take: (flags: number, message: Buffer) => void;
  #pieces: Buffer[] = [];
  #have = 0;
  #need = envelopeBytes;

  constructor(maxBytes: number, take: (flags: number, message: Buffer) => void) {
    this.#maxBytes = maxBytes;
    this.#take = take;
  }

  /** Whether the bytes so far end with a whole message. */
  get complete(): boolean {
    return this.#have === 0;
  }

  /** False: a message is longer than allowed. */
  push(bytes: Buffer): boolean {
    let data = bytes;
    if (this.#have > 0) {
      this.#pieces.push(bytes);
      this.#have += bytes.length;
      if (this.#have < this.#need) return true;
      data = Buffer.concat(this.#pieces, this.#have);
      this.#pieces = [];
      this.#have = 0;
    }
    let at = 0;
    while (data.length - at >= envelopeBytes) {
      const length = data.readUInt32BE(at + 1);
      if (length > this.#maxBytes) return false;
      const end = at + envelopeBytes + length;
      if (end > data.length) {
        this.#need = envelopeBytes + length;
        break;
      }
      this.#take(data[at] as number, data.subarray(at + envelopeBytes, end));
      at = end;
    }
    if (at < data.length) {
      if (data.length - at < envelopeBytes) this.#need = envelopeBytes;
      this.#pieces.push(data.subarray(at));
      this.#have = data.length - at;
    }
    return true;
  }
}
