import { once } from "node:events";
import { createBrotliCompress, createDeflate, createGzip, createZstdCompress } from "node:zlib";

/** Content codings a body can be sent in. `deflate` is zlib-wrapped. */
export type Encoding = "gzip" | "deflate" | "br" | "zstd";

type Compressor = ReturnType<typeof createGzip | typeof createBrotliCompress | typeof createZstdCompress>;

const CREATE: Readonly<Record<Encoding, () => Compressor>> = {
  gzip: () => createGzip(),
  deflate: () => createDeflate(),
  br: () => createBrotliCompress(),
  zstd: () => createZstdCompress(),
};

/** One encoded body: each `write` returns what the encoder flushed, `end` the rest. */
export class BodyEncoder {
  readonly #stream: Compressor;
  #out: Buffer[] = [];

  constructor(encoding: Encoding) {
    this.#stream = CREATE[encoding]();
    this.#stream.on("data", (chunk: Buffer) => this.#out.push(chunk));
  }

  async write(bytes: Uint8Array): Promise<Buffer> {
    this.#stream.write(bytes);
    await new Promise<void>((resolve) => {
      this.#stream.flush(resolve);
    });
    return this.#take();
  }

  async end(): Promise<Buffer> {
    const ended = once(this.#stream, "end");
    this.#stream.end();
    await ended;
    return this.#take();
  }

  /** Frees the encoder when the answer is cut short. */
  destroy(): void {
    this.#stream.destroy();
  }

  #take(): Buffer {
    const out = Buffer.concat(this.#out);
    this.#out = [];
    return out;
  }
}

/** A whole body in one coding. */
export async function encodeBody(encoding: Encoding, bytes: Uint8Array): Promise<Buffer> {
  const encoder = new BodyEncoder(encoding);
  const first = bytes.length === 0 ? Buffer.alloc(0) : await encoder.write(bytes);
  return Buffer.concat([first, await encoder.end()]);
}
