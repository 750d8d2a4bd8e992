import type { IncomingMessage, ServerResponse } from "node:http";
import type { Http2ServerRequest, Http2ServerResponse } from "node:http2";
import { type Flushable, flushThisTurn, Gathered, type Part } from "@switchyard/http1";
import { failure } from "../failure.ts";
import type { Encoded } from "../wire/encode.ts";
import { type OnError, refuse, type Responder, serve } from "./lean-handler.ts";
import type { Route } from "./route.ts";
import type { HeaderSource } from "./server-call.ts";

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** Serves a hot method over node's own HTTP/1.1 or HTTP/2: what the lean connection does not read itself. */
export function serveNode(
  route: Route,
  request: NodeRequest,
  response: NodeResponse,
  maxBytes: number,
  onError: OnError,
): void {
  const to = new NodeResponder(response);
  const body = new Gathered();
  let refused = false;
  request.on("data", (piece: Buffer) => {
    if (refused) return;
    if (body.length + piece.length <= maxBytes) body.push(piece);
    else {
      refused = true;
      body.clear();
      refuse(route, to, failure("request_too_large", "the request is too large", { status: 413 }));
    }
  });
  request.on("end", () => {
    if (!refused) serve(route, headersOf(request), body.take(), to, onError);
  });
  request.on("error", () => {});
}

function headersOf(request: NodeRequest): HeaderSource {
  const { headers } = request;
  const read = (name: string): string | undefined => {
    const value = headers[name];
    return typeof value === "object" ? value.join(", ") : value;
  };
  return {
    get: read,
    each: (visit) => {
      for (const name of Object.keys(headers)) visit(name, read(name) ?? "");
    },
  };
}

const roomBytes = 65_536;

class NodeResponder implements Responder, Flushable {
  onDrain: (() => void) | undefined;
  onLeft: (() => void) | undefined;
  readonly #response: ServerResponse;
  #over = false;
  #parts: Uint8Array[] = [];
  #bytes = 0;
  #full = false;
  #ended = false;

  constructor(response: NodeResponse) {
    // What is used of both kinds is the same; their types are not.
    this.#response = response as ServerResponse;
    response.on("close", () => {
      if (this.#over) return;
      this.#over = true;
      this.#parts = [];
      this.onLeft?.();
    });
    response.on("error", () => {});
    response.on("drain", () => this.#drained());
  }

  answer(status: number, contentType: string, fields: Headers | undefined, body: Encoded): void {
    if (this.#over) return;
    this.#over = true;
    this.#response.statusCode = status;
    fields?.forEach((value, name) => this.#response.setHeader(name, value));
    this.#response.setHeader("content-type", contentType);
    this.#response.setHeader("content-length", body.length);
    if (body.tail === undefined) return void this.#response.end(body.head);
    this.#response.write(body.head);
    this.#response.end(body.tail);
  }

  open(contentType: string): void {
    if (this.#over) return;
    this.#response.writeHead(200, { "content-type": contentType });
  }

  write(parts: readonly Part[], bytes: number): boolean {
    if (this.#over) return false;
    if (this.#parts.length === 0) flushThisTurn(this);
    for (const part of parts) this.#parts.push(typeof part === "string" ? Buffer.from(part, "latin1") : part);
    this.#bytes += bytes;
    this.#full = this.#bytes + this.#response.writableLength > roomBytes;
    return !this.#full;
  }

  end(): void {
    if (this.#over) return;
    this.#ended = true;
    if (this.#parts.length === 0) flushThisTurn(this);
  }

  flush(): void {
    if (this.#over) return;
    const parts = this.#parts;
    this.#parts = [];
    this.#bytes = 0;
    const bytes = parts.length === 1 ? (parts[0] as Uint8Array) : Buffer.concat(parts);
    if (this.#ended) {
      this.#over = true;
      this.#response.end(bytes);
    } else if (this.#response.write(bytes)) this.#drained();
  }

  #drained(): void {
    if (this.#over || !this.#full) return;
    this.#full = false;
    this.onDrain?.();
  }
}
