import type { Header } from "@switchyard/proto/inference/v1/inference_service";

/** What a request's header lines say, read in one pass. */
export interface RequestHead {
  /** What goes on, names in lower case, in the order they came: no credential, cookie, framing or hop-by-hop header (P9, BH-36). */
  headers: Header[];
  /** The caller's key. Where two are given, `Authorization` wins. */
  key: string | undefined;
  /** The caller's own request id, if it can be used. */
  requestId: string | undefined;
  /** `Content-Encoding`, several lines joined by commas. */
  contentEncoding: string | undefined;
  /** Bytes on the wire; undefined without a body and for a chunked one. */
  contentLength: number | undefined;
  chunked: boolean;
}

type Treatment = "drop" | "authorization" | "key" | "connection" | "length" | "encoding" | "chunked" | "id";

/** The headers that are not simply passed on. */
const TREATMENTS = new Map<string, Treatment>([
  ["authorization", "authorization"],
  ["x-api-key", "key"],
  ["api-key", "key"],
  ["connection", "connection"],
  ["content-length", "length"],
  ["content-encoding", "encoding"],
  ["transfer-encoding", "chunked"],
  ["x-request-id", "id"],
  ["proxy-authorization", "drop"],
  ["proxy-authenticate", "drop"],
  ["proxy-connection", "drop"],
  ["cookie", "drop"],
  ["keep-alive", "drop"],
  ["te", "drop"],
  ["trailer", "drop"],
  ["upgrade", "drop"],
  ["http2-settings", "drop"],
  ["host", "drop"],
  ["accept-encoding", "drop"],
  ["expect", "drop"],
]);

const BEARER = /^bearer[ \t]+/i;
const VISIBLE = /^[\x21-\x7e]+$/;
const MAX_REQUEST_ID = 128;

/** Reads names and values as they alternate on the wire. */
export function readRequestHead(rawHeaders: readonly string[]): RequestHead {
  const headers: Header[] = [];
  const head: RequestHead = {
    headers,
    key: undefined,
    requestId: undefined,
    contentEncoding: undefined,
    contentLength: undefined,
    chunked: false,
  };
  let bearer: string | undefined;
  let named: Set<string> | undefined;
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    const name = (rawHeaders[at] as string).toLowerCase();
    const value = rawHeaders[at + 1] as string;
    const treatment = TREATMENTS.get(name);
    if (treatment === undefined) {
      headers.push({ $typeName: "switchyard.inference.v1.Header", name, value });
      continue;
    }
    switch (treatment) {
      case "authorization":
        if (bearer === undefined && BEARER.test(value)) bearer = usableKey(value.replace(BEARER, ""));
        break;
      case "key":
        head.key ??= usableKey(value);
        break;
      case "connection":
        named = addNamed(named, value);
        break;
      case "length":
        head.contentLength = Number(value);
        break;
      case "encoding":
        head.contentEncoding =
          head.contentEncoding === undefined ? value : `${head.contentEncoding},${value}`;
        break;
      case "chunked":
        head.chunked = true;
        break;
      case "id":
        if (value.length <= MAX_REQUEST_ID && VISIBLE.test(value)) head.requestId ??= value;
        break;
      case "drop":
        break;
    }
  }
  if (bearer !== undefined) head.key = bearer;
  // `Connection` may stand after the headers that it names.
  const unwanted = named;
  if (unwanted !== undefined) head.headers = headers.filter((header) => !unwanted.has(header.name));
  return head;
}

/** A key outside visible ASCII cannot be one of ours, nor travel as metadata. */
function usableKey(text: string): string | undefined {
  const key = text.trim();
  return VISIBLE.test(key) ? key : undefined;
}

function addNamed(named: Set<string> | undefined, value: string): Set<string> | undefined {
  const text = value.toLowerCase();
  if (text === "keep-alive" || text === "close") return named;
  const all = named ?? new Set<string>();
  for (const token of text.split(",")) all.add(token.trim());
  return all;
}
