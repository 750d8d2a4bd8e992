import type { Transform } from "node:stream";
import {
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
  constants,
} from "node:zlib";
import type { BodyFault, BodyReader } from "./body-reader.ts";
import type { Coding } from "./codings.ts";

/** RFC 9659 bounds the window of zstd as a content coding to 8 MiB. */
const ZSTD_WINDOW_LOG = 23;
const CHUNK = 64 * 1024;
const NOTHING = new Uint8Array(0);

const OPEN: Readonly<Record<Coding, (firstByte: number) => Transform>> = {
  gzip: () => createGunzip({ chunkSize: CHUNK }),
  // Some clients send a bare deflate stream under this name; a zlib header always has method 8 in its low bits.
  deflate: (firstByte) =>
    (firstByte & 0x0f) === 8 ? createInflate({ chunkSize: CHUNK }) : createInflateRaw({ chunkSize: CHUNK }),
  br: () => createBrotliDecompress({ chunkSize: CHUNK }),
  zstd: () =>
    createZstdDecompress({ chunkSize: CHUNK, params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG } }),
};

/**
 * Undoes the content codings of a whole body off the event loop's thread. What each layer gives is bounded and counted, so
 * that a bomb within a bomb is cut at the first (BH-39).
 */
export class Inflation {
  readonly #codings: readonly Coding[];
  readonly #open: () => BodyReader;
  readonly #done: (fault: BodyFault | undefined, body: Uint8Array) => void;
  #reader: BodyReader | undefined;
  #decoder: Transform | undefined;
  #over = false;

  /** `codings` holds at least one, outermost first; `open` makes a reader with the bounds. `done` is called once, unless released before. */
  constructor(
    codings: readonly Coding[],
    open: () => BodyReader,
    done: (fault: BodyFault | undefined, body: Uint8Array) => void,
  ) {
    this.#codings = codings;
    this.#open = open;
    this.#done = done;
  }

  run(body: Uint8Array): void {
    this.#undo(0, body);
  }

  /** Stops, and nobody holds the body any more. */
  release(): void {
    this.#stop();
    this.#reader?.release();
    this.#reader = undefined;
  }

  #undo(layer: number, body: Uint8Array): void {
    const coding = this.#codings[layer];
    // An empty body is empty in any coding.
    if (coding === undefined || body.length === 0) {
      this.#finish(undefined, body);
      return;
    }
    const input = this.#reader;
    const output = this.#open();
    this.#reader = output;
    const decoder = OPEN[coding](body[0] as number);
    this.#decoder = decoder;
    decoder.on("data", (piece: Buffer) => {
      if (this.#over) return;
      const fault = output.push(piece);
      if (fault !== undefined) this.#finish(fault, NOTHING);
    });
    decoder.on("error", () => this.#finish("damaged", NOTHING));
    decoder.on("end", () => {
      if (!this.#over) this.#undo(layer + 1, output.take());
    });
    decoder.on("close", () => input?.release());
    decoder.end(body);
  }

  #finish(fault: BodyFault | undefined, body: Uint8Array): void {
    if (this.#over) return;
    this.#stop();
    this.#done(fault, body);
  }

  #stop(): void {
    this.#over = true;
    this.#decoder?.destroy();
    this.#decoder = undefined;
  }
}
