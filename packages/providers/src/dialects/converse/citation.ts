import {
  isJsonList,
  isJsonNumber,
  isJsonObject,
  type JsonObject,
  objectOf,
  textOf,
} from "../../json/lossless.ts";
import type { CitedPlace } from "../../neutral/events.ts";

const KINDS = [
  ["documentChar", "characters"],
  ["documentPage", "pages"],
  ["documentChunk", "blocks"],
] as const;

/** The place in one of the request's documents that a citation names; undefined where it names another kind of source. */
export function readCitedPlace(citation: JsonObject): CitedPlace | undefined {
  const { location, sourceContent, title } = citation;
  const parts = isJsonList(sourceContent) ? sourceContent : [];
  for (const [key, unit] of KINDS) {
    const found = objectOf(location)[key];
    if (!isJsonObject(found)) continue;
    const { documentIndex: document, start, end } = found;
    if (!isJsonNumber(document) || !isJsonNumber(start) || !isJsonNumber(end)) return undefined;
    const text = parts.map((part) => textOf(objectOf(part)["text"]) ?? "").join("");
    return { unit, document, start, end, text, title: textOf(title) };
  }
  return undefined;
}
