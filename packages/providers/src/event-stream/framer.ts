import { MAX_EVENT_BYTES } from "../sse/framer.ts";
import { crc32 } from "./crc32.ts";
import { readFrameHeaders } from "./frame.ts";

/** The content type of AWS's event streams. */
export const EVENT_STREAM_TYPE = "application/vnd.amazon.eventstream";

/** Total length, length of the headers, and their checksum. */
const PRELUDE = 12;
const CHECKSUM = 4;

/** Takes a frame's text headers and where in `bytes` its payload is, which is only to be read meanwhile. */
export type TakeFrame = (
  headers: ReadonlyMap<string, string>,
  bytes: Uint8Array,
  start: number,
  end: number,
) => void;

/** Cuts `application/vnd.amazon.eventstream` into its frames, wherever its chunks begin and end. */
export class EventStreamFramer {
  readonly #onFrame: TakeFrame;
  #held: Uint8Array = new Uint8Array(0);
  #size = 0;
  /** Bytes of the frame that is being gathered, known from its first twelve. */
  #wanted = PRELUDE;
  #broken = false;

  constructor(onFrame: TakeFrame) {
    this.#onFrame = onFrame;
  }

  /** Takes in a chunk, which may be reused by its owner afterwards. False once a frame was damaged, or larger than any event may be. */
  push(chunk: Uint8Array): boolean {
    let from = 0;
    while (!this.#broken && from < chunk.length) {
      const taken = Math.min(this.#wanted - this.#size, chunk.length - from);
      this.#keep(chunk.subarray(from, from + taken));
      from += taken;
      if (this.#size === this.#wanted) this.#read();
    }
    return !this.#broken;
  }

  #keep(piece: Uint8Array): void {
    const size = this.#size + piece.length;
    if (size > this.#held.length) {
      const larger = new Uint8Array(Math.max(1024, this.#wanted, size));
      larger.set(this.#held.subarray(0, this.#size));
      this.#held = larger;
    }
    this.#held.set(piece, this.#size);
    this.#size = size;
  }

  #read(): void {
    const total = this.#word(0);
    const headersEnd = PRELUDE + this.#word(4);
    if (this.#size === PRELUDE) {
      const isSound =
        this.#word(8) === crc32(this.#held, 0, PRELUDE - CHECKSUM) &&
        headersEnd + CHECKSUM <= total &&
        total <= MAX_EVENT_BYTES;
      this.#broken = !isSound;
      this.#wanted = total;
      return;
    }
    const end = total - CHECKSUM;
    const headers =
      this.#word(end) === crc32(this.#held, 0, end)
        ? readFrameHeaders(this.#held, PRELUDE, headersEnd)
        : undefined;
    this.#size = 0;
    this.#wanted = PRELUDE;
    if (headers === undefined) this.#broken = true;
    else this.#onFrame(headers, this.#held, headersEnd, end);
  }

  #word(at: number): number {
    const held = this.#held;
    const high = ((held[at] as number) << 8) | (held[at + 1] as number);
    return high * 0x10000 + (((held[at + 2] as number) << 8) | (held[at + 3] as number));
  }
}
