import { type HeaderPair, headerOf } from "./wire-reader.ts";

/** Who closed the socket of a call: the provider in order, the provider by reset, or the caller. */
export type ClosedHow = "end" | "reset" | "client";

/** One request as the scripted provider saw it. Times are `performance.now()` milliseconds. */
export class RecordedCall {
  /** Arrival of the end of the head. */
  readonly at: number = performance.now();
  readonly method: string;
  /** Raw request target, query included. */
  readonly path: string;
  /** Header lines in wire order, names in the case they came in. */
  readonly headers: readonly HeaderPair[];
  /** Number of the TCP connection, from 1. */
  readonly connection: number;
  /** Place among the requests of that connection, from 1. */
  readonly requestOnConnection: number;
  /** Raw body bytes; whole once `received` is true. */
  body: Buffer = Buffer.alloc(0);
  trailers: readonly HeaderPair[] = [];
  /** The request has come in whole. */
  received = false;
  /** Answer bytes, head included, that the kernel has taken. */
  bytesAccepted = 0;
  /** When the last byte of the answer was accepted; absent if it never was. */
  answeredAt?: number;
  /** When the socket of this call closed. */
  closedAt?: number;
  closedHow?: ClosedHow;

  constructor(
    requestLine: string,
    headers: readonly HeaderPair[],
    connection: number,
    requestOnConnection: number,
  ) {
    const [method = "", path = ""] = requestLine.split(" ");
    this.method = method;
    this.path = path;
    this.headers = headers;
    this.connection = connection;
    this.requestOnConnection = requestOnConnection;
  }

  /** The caller left before the answer was complete. */
  get abandoned(): boolean {
    return this.closedHow === "client" && this.answeredAt === undefined;
  }

  /** Value of the first header of that name, in any case. */
  header(name: string): string | undefined {
    return headerOf(this.headers, name);
  }

  /** The values of all headers of that name. */
  headerValues(name: string): string[] {
    const wanted = name.toLowerCase();
    return this.headers.filter(([key]) => key.toLowerCase() === wanted).map(([, value]) => value);
  }

  /** The body as JSON; throws if it is none. */
  json(): unknown {
    return JSON.parse(this.body.toString("utf8"));
  }
}
