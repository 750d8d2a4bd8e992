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
 * Undoes the content codings of a whole body off the event loop's thread, into `reader`, which bounds what comes out. Each
 * layer is bounded by `maxBytes` too, so that a bomb within a bomb is cut at the first (BH-39).
 */
export class Inflation {
  readonly #codings: readonly Coding[];
  readonly #maxBytes: number;
  readonly #reader: BodyReader;
  readonly #done: (fault: BodyFault | undefined) => void;
  #decoder: Transform | undefined;
  #over = false;

  /** `codings` holds at least one, outermost first. `done` is called once, unless destroyed before. */
  constructor(
    codings: readonly Coding[],
    maxBytes: number,
    reader: BodyReader,
    done: (fault: BodyFault | undefined) => void,
  ) {
    this.#codings = codings;
    this.#maxBytes = maxBytes;
    this.#reader = reader;
    this.#done = done;
  }

  run(body: Uint8Array): void {
    this.#undo(0, body);
  }

  /** Stops; `done` is not called any more. */
  destroy(): void {
    this.#over = true;
    this.#decoder?.destroy();
    this.#decoder = undefined;
  }

  #undo(layer: number, body: Uint8Array): void {
    const coding = this.#codings[layer];
    // An empty body is empty in any coding.
    if (coding === undefined || body.length === 0) {
      this.#finish(undefined);
      return;
    }
    const last = layer === this.#codings.length - 1;
    const between: Buffer[] = [];
    let size = 0;
    const decoder = OPEN[coding](body[0] as number);
    this.#decoder = decoder;
    decoder.on("data", (piece: Buffer) => {
      if (this.#over) return;
      size += piece.length;
      if (last) {
        const fault = this.#reader.push(piece);
        if (fault !== undefined) this.#finish(fault);
      } else if (size > this.#maxBytes) this.#finish("too_large");
      else between.push(piece);
    });
    decoder.on("error", () => this.#finish("damaged"));
    decoder.on("end", () => {
      if (this.#over) return;
      if (last) this.#finish(undefined);
      else this.#undo(layer + 1, Buffer.concat(between, size));
    });
    decoder.end(body);
  }

  #finish(fault: BodyFault | undefined): void {
    if (this.#over) return;
    this.destroy();
    this.#done(fault);
  }
}
