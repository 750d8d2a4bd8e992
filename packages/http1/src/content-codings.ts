import type { Transform } from "node:stream";
import {
  constants,
  createBrotliDecompress,
  createGunzip,
  createInflate,
  createInflateRaw,
  createZstdDecompress,
} from "node:zlib";

/** The content codings that a body may have. */
export type ContentCoding = "gzip" | "br" | "deflate" | "zstd";

const CODINGS = new Map<string, ContentCoding | "identity">([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["br", "br"],
  ["deflate", "deflate"],
  ["zstd", "zstd"],
  ["identity", "identity"],
]);

/** More layers than anybody sends; each one costs a decoder. */
const MAX_LAYERS = 3;

const NONE: readonly ContentCoding[] = [];

/** The codings to undo, outermost first, of a `content-encoding`; undefined where one is unknown or there are too many. */
export function contentCodings(header: string | undefined): readonly ContentCoding[] | undefined {
  if (header === undefined) return NONE;
  const layers: ContentCoding[] = [];
  for (const token of header.toLowerCase().split(",")) {
    const name = token.trim();
    if (name === "") continue;
    const coding = CODINGS.get(name);
    if (coding === undefined) return undefined;
    if (coding !== "identity") layers.unshift(coding);
  }
  return layers.length > MAX_LAYERS ? undefined : layers;
}

/** How a decoder gives out what it has decoded. */
export interface DecoderOptions {
  /** Size of its pieces, bytes; zlib's own without. */
  readonly chunkSize?: number;
  /** What its peer flushed comes out when it was flushed (BH-38). */
  readonly flushes?: boolean;
}

/** RFC 9659 bounds the window of zstd as a content coding to 8 MiB; without it a peer could claim 128 MiB a stream. */
const ZSTD_WINDOW_LOG = 23;

/** A decoder of one coding; `firstByte`: the first that it will be given. */
export function openDecoder(
  coding: ContentCoding,
  firstByte: number,
  { flushes = false, ...sizes }: DecoderOptions,
): Transform {
  const zlib = flushes ? { ...sizes, flush: constants.Z_SYNC_FLUSH } : sizes;
  switch (coding) {
    case "gzip":
      return createGunzip(zlib);
    case "deflate":
      // Some peers send a bare deflate stream under this name; a zlib header always has method 8 in its low bits.
      return (firstByte & 0x0f) === 8 ? createInflate(zlib) : createInflateRaw(zlib);
    case "br":
      return createBrotliDecompress(flushes ? { ...sizes, flush: constants.BROTLI_OPERATION_FLUSH } : sizes);
    case "zstd":
      return createZstdDecompress({
        ...sizes,
        params: { [constants.ZSTD_d_windowLogMax]: ZSTD_WINDOW_LOG },
      });
  }
}
