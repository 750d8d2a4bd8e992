import type { Source } from "../neutral/request.ts";
import { invalidField } from "./fault.ts";

/** The source that a URL names: `data:` URLs hold their bytes, http(s) URLs are the provider's to fetch. */
export function sourceOfUrl(url: string, path: string): Source {
  if (/^https?:\/\//iu.test(url)) return { kind: "url", url };
  // Matched in two steps: the data itself may be many megabytes.
  const comma = url.indexOf(",");
  const head = comma < 0 ? "" : url.slice(0, comma);
  const [, mediaType, parameters] = /^data:([\w.+-]+\/[\w.+-]+)?((?:;[\w=.+-]+)*)$/iu.exec(head) ?? [];
  if (mediaType === undefined || parameters === undefined || !/;base64$/iu.test(parameters)) {
    throw invalidField(path, "must be an http(s) URL or a base64 data URL with a media type");
  }
  return { kind: "base64", mediaType: mediaType.toLowerCase(), data: url.slice(comma + 1) };
}

/** The URL that says a source. */
export function urlOfSource(source: Exclude<Source, { kind: "text" }>): string {
  return source.kind === "url" ? source.url : `data:${source.mediaType};base64,${source.data}`;
}
