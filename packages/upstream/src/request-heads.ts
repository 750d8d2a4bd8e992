import { requestHead } from "@switchyard/http1";
import { requestHeaders } from "./headers.ts";
import type { ExchangeRequest, RequestBody } from "./types.ts";

/** A body that is left out may also mean that it was forgotten; where one is usual, its length says that it was not. */
const USUALLY_WITH_BODY = new Set(["POST", "PUT", "PATCH"]);

/** Writes the request heads of one origin. Requests of one deployment differ in little but their length. */
export class RequestHeads {
  readonly #host: string;
  #method = "";
  #path = "";
  #headers: readonly string[] = [];
  #text = "";

  constructor(host: string) {
    this.#host = host;
  }

  /** The whole head; undefined when it cannot be put on the wire. */
  write({ method, path, headers, body }: ExchangeRequest): string | undefined {
    if (method !== this.#method || path !== this.#path || !isSame(headers, this.#headers)) {
      const text = requestHead(method, path, this.#host, requestHeaders(headers));
      if (text === undefined) {
        return undefined;
      }
      this.#method = method;
      this.#path = path;
      this.#headers = [...headers];
      this.#text = text;
    }
    const length = sizeOf(body);
    if (length > 0 || USUALLY_WITH_BODY.has(method)) {
      return `${this.#text}content-length: ${length}\r\n\r\n`;
    }
    return `${this.#text}\r\n`;
  }
}

function sizeOf(body: RequestBody): number {
  if (body === null || body instanceof Uint8Array) {
    return body?.length ?? 0;
  }
  let size = 0;
  for (const piece of body) {
    size += piece.length;
  }
  return size;
}

function isSame(headers: readonly string[], known: readonly string[]): boolean {
  if (headers.length !== known.length) {
    return false;
  }
  for (let i = 0; i < known.length; i += 1) {
    if (headers[i] !== known[i]) {
      return false;
    }
  }
  return true;
}
