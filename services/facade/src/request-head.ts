import type { Header } from "@switchyard/proto/inference/v1/inference_service";

type Treatment =
  | "drop"
  | "authorization"
  | "key"
  | "connection"
  | "length"
  | "encoding"
  | "chunked"
  | "id"
  | "host"
  | "unusual";

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
  ["proxy-connection", "unusual"],
  ["cookie", "drop"],
  ["keep-alive", "drop"],
  ["te", "drop"],
  ["trailer", "unusual"],
  ["upgrade", "unusual"],
  ["http2-settings", "unusual"],
  ["host", "host"],
  ["accept-encoding", "drop"],
  ["expect", "unusual"],
]);

/** What a request's header lines say, gathered line by line. */
export class RequestHead {
  /** What goes on, names in lower case, in the order they came: no credential, cookie, framing or hop-by-hop header (P9, BH-36). */
  headers: Header[] = [];
  /** The caller's key. Where two are given, `Authorization` wins. */
  key: string | undefined = undefined;
  /** The caller's own request id, if it can be used. */
  requestId: string | undefined = undefined;
  /** `Content-Encoding`, several lines joined by commas. */
  contentEncoding: string | undefined = undefined;
  /** Bytes on the wire; undefined without a body and for a chunked one. */
  contentLength: number | undefined = undefined;
  chunked = false;
  /**
   * Nothing here needs more of a reader than a body of the told length on a connection that goes on: one host, at most
   * one length and that in digits, no transfer coding, expectation, upgrade or word on the connection.
   */
  plain = true;
  /** `Host` lines; a request of HTTP/1.1 has one. */
  hosts = 0;
  #bearer: string | undefined;
  #named: Set<string> | undefined;

  /** Takes a line; `name` is in lower case. */
  take(name: string, value: string): void {
    const treatment = TREATMENTS.get(name);
    if (treatment === undefined) {
      this.headers.push({ $typeName: "switchyard.inference.v1.Header", name, value });
      return;
    }
    switch (treatment) {
      case "authorization":
        if (this.#bearer === undefined && BEARER.test(value)) {
          this.#bearer = usableKey(value.replace(BEARER, ""));
        }
        break;
      case "key":
        this.key ??= usableKey(value);
        break;
      case "connection":
        this.#takeConnection(value.toLowerCase());
        break;
      case "length":
        if (this.contentLength !== undefined || !DIGITS.test(value)) this.plain = false;
        this.contentLength = Number(value);
        break;
      case "encoding":
        this.contentEncoding =
          this.contentEncoding === undefined ? value : `${this.contentEncoding},${value}`;
        break;
      case "chunked":
        this.chunked = true;
        this.plain = false;
        break;
      case "id":
        if (value.length <= MAX_REQUEST_ID && VISIBLE.test(value)) this.requestId ??= value;
        break;
      case "host":
        this.hosts += 1;
        break;
      case "unusual":
        this.plain = false;
        break;
      case "drop":
        break;
    }
  }

  /** After the last line. */
  finish(): void {
    if (this.#bearer !== undefined) this.key = this.#bearer;
    if (this.hosts !== 1) this.plain = false;
    // `Connection` may stand after the headers that it names.
    const named = this.#named;
    if (named !== undefined) this.headers = this.headers.filter((header) => !named.has(header.name));
  }

  #takeConnection(value: string): void {
    if (value === "keep-alive") return;
    this.plain = false;
    if (value === "close") return;
    this.#named ??= new Set<string>();
    for (const token of value.split(",")) this.#named.add(token.trim());
  }
}

const BEARER = /^bearer[ \t]+/i;
const VISIBLE = /^[\x21-\x7e]+$/;
const DIGITS = /^\d{1,15}$/;
const MAX_REQUEST_ID = 128;

/** Reads names and values as they alternate on the wire. */
export function readRequestHead(rawHeaders: readonly string[]): RequestHead {
  const head = new RequestHead();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) {
    head.take((rawHeaders[at] as string).toLowerCase(), rawHeaders[at + 1] as string);
  }
  head.finish();
  return head;
}

/** A key outside visible ASCII cannot be one of ours, nor travel as metadata. */
function usableKey(text: string): string | undefined {
  const key = text.trim();
  return VISIBLE.test(key) ? key : undefined;
}
