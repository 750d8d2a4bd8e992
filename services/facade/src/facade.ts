import { endConnection, FAREWELL, Roster, stopListening } from "@switchyard/http1";
import { randomUUID } from "node:crypto";
import { createServer, type Server } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import type { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Logger, Metrics } from "@switchyard/telemetry";
import { Admission } from "./admission.ts";
import { answerBrokenRequest, MALFORMED, NO_PROXY } from "./broken-request.ts";
import { Exchange, type ExchangeHost } from "./exchange.ts";
import { KEEP_ALIVE_BUFFER_MS } from "./fast-connection.ts";
import { FastLane } from "./fast-lane.ts";
import {
  MAX_HEADER_BYTES,
  MAX_HEADERS,
  MAX_PATH,
  MAX_QUERY,
  type ServerLimits,
  serverLimits,
} from "./limits.ts";
import { FacadeRequest, FacadeResponse } from "./messages.ts";
import type { PlainRequest } from "./plain-request.ts";
import type { RequestSource, ResponseWriter } from "./ports.ts";
import { type Refusal, refusal } from "./refusal.ts";
import { type RequestHead, readRequestHead } from "./request-head.ts";
import { faceFor, findNativeRoute, findRoute, type Route, splitTarget, suggestPath } from "./routes.ts";

export interface FacadeOptions extends Partial<ServerLimits> {
  /** Where every request goes: the forwarder itself, or a client of it. */
  readonly inference: Pick<ServiceImpl<typeof InferenceService>, "infer">;
  /** Most bytes of one request body, compressed and decoded. */
  readonly maxBodyBytes: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Paths of native endpoints by the config in force; asked only for paths that are not the facade's own. */
  readonly nativePaths?: (() => ReadonlySet<string>) | undefined;
  /** False: node:http reads every request, the plain ones too. Answers are the same. Default true. */
  readonly fastLane?: boolean | undefined;
}

export interface ListenOptions {
  readonly host: string;
  readonly port: number;
  /** Lets several processes share the port. */
  readonly reusePort?: boolean | undefined;
}

/** The HTTP face: sizes, encodings, dialects' error shapes and streaming, and nothing of what is behind. */
export interface Facade {
  /** Resolves to `host:port`; rejects with one line that names the address. */
  listen(options: ListenOptions): Promise<string>;
  /**
   * Drains: no new connection, running requests and streams finish, each answer is its connection's last. Connections
   * that stay idle end after a moment, with a 408 that lets a caller repeat what was on its way there. What still runs
   * after `graceMs` gets an error in its dialect and its connection is closed.
   */
  close(graceMs: number): Promise<void>;
}

/** Pools of callers use the connections that they like best; in this time those end with an answer, ms. */
const LINGER_MS = 500;
/** How long callers have to take the last words of a drain, ms. */
const LAST_WORDS_MS = 200;

const NONE: ReadonlySet<string> = new Set();
const NO_PATHS = (): ReadonlySet<string> => NONE;
const SHUTTING_DOWN = refusal(503, "overloaded", "the gateway is shutting down; try again");

/** Creates the HTTP face; it serves after `listen`. */
export function createFacade(options: FacadeOptions): Facade {
  return new HttpFacade(options);
}

class HttpFacade implements Facade, ExchangeHost {
  readonly inference: Pick<ServiceImpl<typeof InferenceService>, "infer">;
  readonly maxBodyBytes: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly admission: Admission;
  readonly active = new Roster<Exchange>();
  readonly pipelined = new Set<Exchange>();
  closing = false;
  readonly #nativePaths: () => ReadonlySet<string>;
  readonly #server: Server<typeof FacadeRequest, typeof FacadeResponse>;
  readonly #sockets = new Set<Socket>();
  readonly #fastLane: FastLane | undefined;

  constructor(options: FacadeOptions) {
    this.inference = options.inference;
    this.maxBodyBytes = options.maxBodyBytes;
    this.logger = options.logger;
    this.metrics = options.metrics;
    this.#nativePaths = options.nativePaths ?? NO_PATHS;
    const limits = serverLimits(options.maxBodyBytes, options);
    this.admission = new Admission(limits.maxConcurrentRequests, limits.maxBufferedBytes);
    const server = createServer({
      IncomingMessage: FacadeRequest,
      ServerResponse: FacadeResponse,
      maxHeaderSize: MAX_HEADER_BYTES,
      keepAliveTimeout: limits.keepAliveTimeoutMs,
      keepAliveTimeoutBuffer: KEEP_ALIVE_BUFFER_MS,
      headersTimeout: limits.headersTimeoutMs,
      requestTimeout: limits.requestTimeoutMs,
      connectionsCheckingInterval: 5000,
      noDelay: true,
      // Node's own refusals know neither our error bodies nor request ids.
      requireHostHeader: false,
    });
    server.timeout = limits.stallTimeoutMs;
    server.on("request", (request, response) => this.#serveNode(request, response, false));
    server.on("checkContinue", (request, response) => this.#serveNode(request, response, true));
    // An expectation that nobody knows may be ignored (RFC 9110, 10.1.1).
    server.on("checkExpectation", (request, response) => this.#serveNode(request, response, false));
    server.on("connect", (_request, socket) =>
      this.#answerBroken({ code: NO_PROXY }, socket as Socket, undefined),
    );
    server.on("clientError", (error, socket) => this.#onClientError(error, socket as Socket));
    const toNode = server.listeners("connection") as ((this: Server, socket: Socket) => void)[];
    if (options.fastLane !== false) {
      server.removeAllListeners("connection");
      this.#fastLane = new FastLane({
        maxBodyBytes: this.maxBodyBytes,
        limits,
        nativePaths: this.#nativePaths,
        serve: (source, writer, request) => this.#servePlain(source, writer, request),
        handOver: (socket, seen) => {
          // Paused, so that nothing is lost between two readers.
          socket.pause();
          socket.unshift(seen);
          for (const listener of toNode) listener.call(server, socket);
          socket.resume();
        },
        broken: (code, socket, open) => this.#answerBroken({ code }, socket, open),
      });
    }
    server.on("connection", (socket) => this.#onConnection(socket));
    // Node's `close` would cut what lies idle, with whatever is on its way there.
    server.closeIdleConnections = () => {};
    this.#server = server;
  }

  async listen({ host, port, reusePort = false }: ListenOptions): Promise<string> {
    const server = this.#server;
    await new Promise<void>((resolve, reject) => {
      const onError = (error: NodeJS.ErrnoException): void => {
        const why =
          error.code === "EADDRINUSE"
            ? "is already in use"
            : `can't be listened on (${error.code ?? error.message})`;
        reject(new Error(`http address ${host}:${port} ${why}`, { cause: error }));
      };
      server.once("error", onError);
      server.listen({ host, port, reusePort, backlog: 1024 }, () => {
        server.off("error", onError);
        resolve();
      });
    });
    server.on("error", (error) => this.logger.error("http server", { error: error.name }));
    const { address, port: bound } = server.address() as AddressInfo;
    return `${address.includes(":") ? `[${address}]` : address}:${bound}`;
  }

  async close(graceMs: number): Promise<void> {
    this.closing = true;
    const grace = setTimeout(() => this.#stop(), graceMs);
    const busy = new Map<Socket, Exchange>();
    for (const exchange of this.active.all()) busy.set(exchange.socket, exchange);
    for (const last of busy.values()) last.answer.lastOnConnection = true;
    const { closed } = await stopListening(this.#server);
    const linger = setTimeout(() => this.#endIdle(), Math.min(LINGER_MS, graceMs));
    await closed;
    clearTimeout(linger);
    clearTimeout(grace);
    this.#fastLane?.close();
  }

  #endIdle(): void {
    const busy = new Set<Socket>();
    for (const exchange of this.active.all()) busy.add(exchange.socket);
    for (const socket of this.#sockets) if (!busy.has(socket)) endConnection(socket, FAREWELL);
  }

  left(exchange: Exchange): void {
    if (!this.closing) return;
    for (const other of this.active.all()) if (other.socket === exchange.socket) return;
    // Streams that began before the drain told their callers nothing of the connection's end.
    endConnection(exchange.socket, exchange.answer.toldLast ? "" : FAREWELL);
  }

  #stop(): void {
    for (const exchange of this.active.all()) exchange.refuse(SHUTTING_DOWN, true);
    setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, LAST_WORDS_MS);
  }

  #onConnection(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on("close", () => {
      this.#sockets.delete(socket);
      for (const exchange of this.pipelined) if (exchange.socket === socket) exchange.onClose();
    });
    this.#fastLane?.take(socket);
  }

  #serveNode(request: FacadeRequest, response: FacadeResponse, awaitsContinue: boolean): void {
    const { path, query } = splitTarget(request.url ?? "/");
    const head = readRequestHead(request.rawHeaders);
    const method = request.method ?? "GET";
    const route = findRoute(path) ?? findNativeRoute(path, this.#nativePaths());
    const exchange = this.#open(request, response, method, path, query, route, head);
    response.watch();
    if (response.socket === null) this.pipelined.add(exchange);
    const cause =
      refuseHosts(head.hosts, request.httpVersionMinor) ??
      refuseTarget(route, method, path) ??
      refuseSizes(path, query, head.headers.length);
    if (cause === undefined) exchange.run(awaitsContinue);
    // Where one request is malformed, nobody knows where the next begins.
    else exchange.refuse(cause, awaitsContinue || cause === MALFORMED);
  }

  #servePlain(source: RequestSource, writer: ResponseWriter, request: PlainRequest): void {
    const { method, path, query, route, head } = request;
    const exchange = this.#open(source, writer, method, path, query, route, head);
    const cause = refuseSizes(path, query, head.headers.length);
    if (cause === undefined) exchange.run(false);
    else exchange.refuse(cause);
  }

  #open(
    source: RequestSource,
    writer: ResponseWriter,
    method: string,
    path: string,
    query: string,
    route: Route | undefined,
    head: RequestHead,
  ): Exchange {
    const bodyless = method === "HEAD";
    return new Exchange(this, source, writer, {
      // The answer to a HEAD is that to a GET without its body.
      method: bodyless ? "GET" : method,
      bodyless,
      path,
      query,
      face: faceFor(route, path, head.headers),
      head,
      requestId: head.requestId ?? randomUUID(),
    });
  }

  #onClientError(error: NodeJS.ErrnoException, socket: Socket): void {
    let open: Exchange | undefined;
    for (const exchange of this.active.all()) if (exchange.socket === socket) open = exchange;
    this.#answerBroken(error, socket, open);
  }

  #answerBroken(error: { code?: string | undefined }, socket: Socket, open: Exchange | undefined): void {
    answerBrokenRequest(error, socket, open, this.metrics, this.logger);
  }
}

function refuseHosts(hosts: number, httpMinor: number): Refusal | undefined {
  return hosts === 1 || (hosts === 0 && httpMinor === 0) ? undefined : MALFORMED;
}

function refuseTarget(route: Route | undefined, method: string, path: string): Refusal | undefined {
  if (route === undefined) return refusal(404, "not_found", notFoundMessage(path));
  const { allow } = route;
  if (allow.includes(method)) return undefined;
  const methods = allow.join(", ");
  return refusal(405, "method_not_allowed", `this path takes ${methods}`, { allow: methods });
}

function refuseSizes(path: string, query: string, headers: number): Refusal | undefined {
  if (path.length > MAX_PATH || query.length > MAX_QUERY) {
    return refusal(
      400,
      "invalid_request",
      `path or query is longer than ${MAX_PATH} or ${MAX_QUERY} characters`,
    );
  }
  if (headers > MAX_HEADERS) return refusal(431, "invalid_request", `more than ${MAX_HEADERS} header lines`);
  return undefined;
}

function notFoundMessage(path: string): string {
  const right = suggestPath(path);
  if (right !== undefined) return `no such path; did you mean ${right}? The base URL ends in /v1, once`;
  return "no such path; the API is under /v1, such as /v1/chat/completions";
}
