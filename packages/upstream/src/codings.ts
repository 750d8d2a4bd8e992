/** The content codings that a response may come in. */
export type ContentCoding = "gzip" | "br" | "deflate" | "zstd";

const CODINGS: Readonly<Record<string, ContentCoding | "identity">> = {
  gzip: "gzip",
  "x-gzip": "gzip",
  br: "br",
  deflate: "deflate",
  zstd: "zstd",
  identity: "identity",
};

/** More layers than anybody sends; each one costs a decoder, so a longer list is not followed. */
const MAX_LAYERS = 3;

/**
 * The codings to undo, outermost first, or null where the body goes through untouched: no coding, one that is
 * unknown, or too many of them.
 */
export function contentCodings(header: string | string[] | undefined): readonly ContentCoding[] | null {
  if (header === undefined) {
    return null;
  }
  const layers: ContentCoding[] = [];
  for (const token of String(header).toLowerCase().split(",")) {
    const name = token.trim();
    const coding = Object.hasOwn(CODINGS, name) ? CODINGS[name] : undefined;
    if (coding === undefined) {
      return null;
    }
    if (coding !== "identity") {
      layers.unshift(coding);
    }
  }
  return layers.length === 0 || layers.length > MAX_LAYERS ? null : layers;
}
