/** One header line as it stood on the wire. */
export type HeaderPair = readonly [name: string, value: string];

/** Start line and headers of one message, in wire order. */
export interface WireHead {
  readonly startLine: string;
  readonly headers: readonly HeaderPair[];
}

/** What a `WireReader` reports; `hasBody` false is for answers such as 204, 1xx and those to HEAD. */
export interface WireEvents {
  onHead(head: WireHead): { readonly hasBody: boolean };
  onBody(chunk: Buffer): void;
  onEnd(trailers: readonly HeaderPair[]): void;
}

const HEAD_LIMIT = 1 << 20;
const CRLF = Buffer.from("\r\n");

type State = "head" | "fixed" | "chunk-size" | "chunk-data" | "chunk-end" | "trailers" | "until-close";

/** The value of the first header of that name, in any case; undefined if there is none. */
export function headerOf(headers: readonly HeaderPair[], name: string): string | undefined {
  const wanted = name.toLowerCase();
  return headers.find(([key]) => key.toLowerCase() === wanted)?.[1];
}

/**
 * Incremental HTTP/1.1 reader for both directions. Node's own parser folds and merges headers and hides
 * how a message was framed; tests about hop-by-hop headers and framing need the bytes as they came.
 */
export class WireReader {
  readonly #kind: "request" | "response";
  readonly #events: WireEvents;
  #state: State = "head";
  #rest: Buffer = Buffer.alloc(0);
  #left = 0;
  #trailers: HeaderPair[] = [];

  constructor(kind: "request" | "response", events: WireEvents) {
    this.#kind = kind;
    this.#events = events;
  }

  /** True between messages, when no byte of a next one has come. */
  get idle(): boolean {
    return this.#state === "head" && this.#rest.length === 0;
  }

  /** Takes the next bytes; throws on malformed framing. */
  push(chunk: Buffer): void {
    this.#rest = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    while (this.#step()) {
      // each step eats one element of the message
    }
  }

  /** The peer has closed: completes a body that is delimited by the close. Returns false if a message was cut. */
  finish(): boolean {
    if (this.#state === "until-close") this.#end();
    return this.idle;
  }

  #step(): boolean {
    switch (this.#state) {
      case "head":
        return this.#readHead();
      case "fixed":
      case "chunk-data":
      case "until-close":
        return this.#readBody();
      case "chunk-size":
        return this.#readChunkSize();
      case "chunk-end":
        return this.#readChunkEnd();
      default:
        return this.#readTrailer();
    }
  }

  #line(): string | undefined {
    const at = this.#rest.indexOf(CRLF);
    if (at < 0) {
      if (this.#rest.length > HEAD_LIMIT) throw new Error("line without an end");
      return undefined;
    }
    const line = this.#rest.toString("latin1", 0, at);
    this.#rest = this.#rest.subarray(at + 2);
    return line;
  }

  #readHead(): boolean {
    const at = this.#rest.indexOf("\r\n\r\n");
    if (at < 0) {
      if (this.#rest.length > HEAD_LIMIT) throw new Error("head without an end");
      return false;
    }
    const [startLine = "", ...lines] = this.#rest.toString("latin1", 0, at).split("\r\n");
    this.#rest = this.#rest.subarray(at + 4);
    const headers = lines.map(splitHeader);
    const { hasBody } = this.#events.onHead({ startLine, headers });
    this.#trailers = [];
    if (!hasBody) this.#end();
    else this.#openBody(headers);
    return true;
  }

  #openBody(headers: readonly HeaderPair[]): void {
    const length = headerOf(headers, "content-length");
    if (headerOf(headers, "transfer-encoding")?.toLowerCase().includes("chunked")) this.#state = "chunk-size";
    else if (length !== undefined) {
      this.#left = Number(length);
      this.#state = "fixed";
      if (this.#left === 0) this.#end();
    } else if (this.#kind === "response") this.#state = "until-close";
    else this.#end();
  }

  #readBody(): boolean {
    if (this.#rest.length === 0) return false;
    const take = this.#state === "until-close" ? this.#rest.length : Math.min(this.#left, this.#rest.length);
    const chunk = this.#rest.subarray(0, take);
    this.#rest = this.#rest.subarray(take);
    this.#left -= take;
    this.#events.onBody(chunk);
    if (this.#state === "until-close" || this.#left > 0) return true;
    if (this.#state === "fixed") this.#end();
    else this.#state = "chunk-end";
    return true;
  }

  #readChunkSize(): boolean {
    const line = this.#line();
    if (line === undefined) return false;
    const size = /^([0-9a-fA-F]+)\s*(;.*)?$/.exec(line)?.[1];
    if (size === undefined) throw new Error(`bad chunk size ${JSON.stringify(line)}`);
    this.#left = Number.parseInt(size, 16);
    this.#state = this.#left === 0 ? "trailers" : "chunk-data";
    return true;
  }

  #readChunkEnd(): boolean {
    const line = this.#line();
    if (line === undefined) return false;
    if (line !== "") throw new Error("chunk longer than its size");
    this.#state = "chunk-size";
    return true;
  }

  #readTrailer(): boolean {
    const line = this.#line();
    if (line === undefined) return false;
    if (line === "") this.#end();
    else this.#trailers.push(splitHeader(line));
    return true;
  }

  #end(): void {
    this.#state = "head";
    this.#events.onEnd(this.#trailers);
  }
}

function splitHeader(line: string): HeaderPair {
  const colon = line.indexOf(":");
  return colon < 0 ? [line, ""] : [line.slice(0, colon), line.slice(colon + 1).trim()];
}
