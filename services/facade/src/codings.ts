/** The content codings that a request body may have. */
export type Coding = "gzip" | "br" | "deflate" | "zstd";

const CODINGS = new Map<string, Coding | "identity">([
  ["gzip", "gzip"],
  ["x-gzip", "gzip"],
  ["br", "br"],
  ["deflate", "deflate"],
  ["zstd", "zstd"],
  ["identity", "identity"],
]);

/** More layers than anybody sends; each one costs a decoder. */
const MAX_LAYERS = 3;

const NONE: readonly Coding[] = [];

/** The codings to undo, outermost first; undefined where one is unknown or there are too many. */
export function readCodings(contentEncoding: string | undefined): readonly Coding[] | undefined {
  if (contentEncoding === undefined) return NONE;
  const layers: Coding[] = [];
  for (const token of contentEncoding.toLowerCase().split(",")) {
    const name = token.trim();
    if (name === "") continue;
    const coding = CODINGS.get(name);
    if (coding === undefined) return undefined;
    if (coding !== "identity") layers.unshift(coding);
  }
  return layers.length > MAX_LAYERS ? undefined : layers;
}
