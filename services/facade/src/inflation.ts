import type { Transform } from "node:stream";
import { type ContentCoding, openDecoder } from "@switchyard/http1";
import type { BodyFault, BodyReader } from "./body-reader.ts";

const CHUNK_BYTES = 64 * 1024;
const NOTHING = new Uint8Array(0);

/**
 * Undoes the content codings of a whole body off the event loop's thread. What each layer gives is bounded and counted, so
 * that a bomb within a bomb is cut at the first (BH-39).
 */
export class Inflation {
  readonly #codings: readonly ContentCoding[];
  readonly #open: () => BodyReader;
  readonly #done: (fault: BodyFault | undefined, body: Uint8Array) => void;
  #reader: BodyReader | undefined;
  #decoder: Transform | undefined;
  #over = false;

  /** `codings` holds at least one, outermost first; `open` makes a reader with the bounds. `done` is called once, unless released before. */
  constructor(
    codings: readonly ContentCoding[],
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
    const decoder = openDecoder(coding, body[0] as number, { chunkSize: CHUNK_BYTES });
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
