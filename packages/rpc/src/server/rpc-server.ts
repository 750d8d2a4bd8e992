import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import {
  constants,
  createServer as createHttp2Server,
  type Http2Server,
  type Http2Stream,
  type ServerHttp2Session,
} from "node:http2";
import type { Socket } from "node:net";
import { type Patience, PATIENCE, stopListening } from "@switchyard/http1";
import { Health } from "@switchyard/proto/grpc/health/v1/health";
import { ServerReflection } from "@switchyard/proto/grpc/reflection/v1/reflection";
import { ServerReflection as ServerReflectionAlpha } from "@switchyard/proto/grpc/reflection/v1alpha/reflection";
import { HealthStatus } from "./health.ts";
import { LeanConnection } from "./lean-connection.ts";
import type { OnError } from "./lean-handler.ts";
import { NodeConnections } from "./node-connections.ts";
import { type NodeRequest, type NodeResponse, serveNode } from "./node-responder.ts";
import { reflectionRoutes } from "./reflection.ts";
import { createRoutes, type Registration, registration, type Route } from "./route.ts";
import { createStockHandler } from "./stock-handler.ts";
import { toStockRoutes } from "./stock-routes.ts";

export interface RpcServerOptions {
  /** Made by `registration`. */
  services: readonly Registration[];
  host: string;
  /** 0: any free one. */
  port: number;
  /** The most bytes of one request message; 128 MiB when left out. */
  maxMessageBytes?: number | undefined;
  /** Whether the services are SERVING from the start; true when left out. */
  serving?: boolean | undefined;
  /** How long it waits for its callers; as the facade does when left out. */
  patience?: Partial<Patience> | undefined;
  /** Told of faults that are no ConnectError; the caller sees `internal`. */
  onError?: OnError | undefined;
}

export interface RpcServer {
  readonly host: string;
  readonly port: number;
  /** `http://host:port`. */
  readonly url: string;
  /** What grpc.health.v1 answers, for one service (its full name) or for all. */
  setServing(serving: boolean, service?: string): void;
  /**
   * Drains: not serving, idle connections end with a farewell that says that nothing more was processed, and after a
   * moment no new ones; what runs may finish for `graceMs`, then it is cut and its calls are cancelled. A stream without
   * an end is its service's to end.
   */
  close(graceMs: number): Promise<void>;
}

const sweepMs = 1000;
/** Calls at once on one HTTP/2 connection; clients hold the next ones back. */
const maxConcurrentStreams = 1024;
/** Finds peers that vanished without a word: a session may lie idle for as long as it likes. */
const keepAliveMs = 60_000;
// Clients learn by the farewells that this server leaves; until they have, they find it open.
const lingerMs = 50;

/**
 * Serves Connect, gRPC and gRPC-Web over HTTP/1.1 and HTTP/2 on one port, with health and reflection. Rejects, naming
 * the address, when it cannot listen.
 */
export async function createRpcServer(options: RpcServerOptions): Promise<RpcServer> {
  const server = new Listener(options);
  await server.listen(options.host, options.port);
  return server;
}

class Listener implements RpcServer {
  readonly host: string;
  port = 0;
  readonly #health: HealthStatus;
  readonly #http1: Server;
  readonly #http2: Http2Server;
  readonly #shutdown = new AbortController();
  readonly #lean = new Set<LeanConnection>();
  readonly #stock: NodeConnections;
  readonly #sockets = new Set<Socket>();
  readonly #sessions = new Set<ServerHttp2Session>();
  readonly #sweeper: NodeJS.Timeout;
  #closed: Promise<void> | undefined;

  constructor(options: RpcServerOptions) {
    this.host = options.host;
    const names = options.services.map(({ service }) => service.typeName);
    this.#health = new HealthStatus(names, options.serving ?? true);
    const registrations = [...options.services, registration(Health, this.#health.impl)];
    const maxMessageBytes = options.maxMessageBytes ?? 128 * 1024 * 1024;
    const onError = options.onError ?? (() => {});
    const routes = createRoutes(registrations);
    const handler = this.#createHandler(registrations, routes, maxMessageBytes, onError);
    this.#http1 = createServer(handler);
    const patience = { ...PATIENCE, ...options.patience };
    this.#stock = new NodeConnections(this.#http1, patience);
    this.#http2 = createHttp2Server({ settings: { maxConcurrentStreams } }, handler);
    this.#http2.on("stream", (stream) => boundStalls(stream, patience.stallMs));
    this.#http2.on("session", (session) => {
      this.#sessions.add(session);
      session.once("close", () => this.#sessions.delete(session));
      session.on("error", () => {});
      if (this.#closed !== undefined) session.close();
    });
    const toHttp1 = this.#http1.listeners("connection") as ((this: Server, socket: Socket) => void)[];
    this.#http1.removeAllListeners("connection");
    const leanOptions = {
      routes,
      maxMessageBytes,
      patience,
      onError,
      onClosed: (connection: LeanConnection) => void this.#lean.delete(connection),
      handOver: (socket: Socket, seen: Buffer) => {
        // Paused, so that nothing is lost between two readers.
        socket.pause();
        socket.unshift(seen);
        if (seen.toString("latin1", 0, preface.length) === preface) {
          // The listener is HTTP/1.1's, which keeps its own half of a connection; a session never hears that the other has ended.
          socket.allowHalfOpen = false;
          socket.setKeepAlive(true, keepAliveMs);
          return void this.#http2.emit("connection", socket);
        }
        this.#stock.add(socket);
        for (const listener of toHttp1) listener.call(this.#http1, socket);
        socket.resume();
      },
    };
    this.#http1.on("connection", (socket: Socket) => {
      if (this.#shutdown.signal.aborted) return void socket.destroy();
      this.#sockets.add(socket);
      socket.once("close", () => this.#sockets.delete(socket));
      this.#lean.add(new LeanConnection(socket, leanOptions, this.#closed !== undefined));
    });
    this.#sweeper = setInterval(() => this.#sweep(), sweepMs).unref();
  }

  get url(): string {
    return `http://${this.host.includes(":") ? `[${this.host}]` : this.host}:${this.port}`;
  }

  listen(host: string, port: number): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = (error: NodeJS.ErrnoException): void => {
        clearInterval(this.#sweeper);
        const why = error.code === "EADDRINUSE" ? "the address is in use" : (error.code ?? error.message);
        reject(new Error(`cannot listen on ${host}:${port}: ${why}`, { cause: error }));
      };
      this.#http1.once("error", refuse);
      this.#http1.listen({ host, port }, () => {
        this.#http1.off("error", refuse);
        const address = this.#http1.address();
        if (typeof address === "object" && address !== null) this.port = address.port;
        resolve();
      });
    });
  }

  setServing(serving: boolean, service?: string): void {
    if (this.#closed === undefined) this.#health.set(serving, service);
  }

  async close(graceMs: number): Promise<void> {
    this.#closed ??= this.#drain(Math.min(lingerMs, graceMs));
    const cut = setTimeout(() => this.#cut(), graceMs);
    await this.#closed;
    clearTimeout(cut);
  }

  async #drain(lingerFor: number): Promise<void> {
    this.#health.set(false);
    this.#health.endWatches();
    this.#end();
    await new Promise((resolve) => setTimeout(resolve, lingerFor));
    const { closed } = await stopListening(this.#http1);
    this.#end();
    await closed;
    clearInterval(this.#sweeper);
    this.#shutdown.abort();
  }

  #end(): void {
    for (const connection of this.#lean) connection.drain();
    this.#stock.drain();
    for (const session of this.#sessions) session.close();
  }

  #cut(): void {
    this.#shutdown.abort();
    for (const connection of this.#lean) connection.destroy();
    for (const session of this.#sessions) session.destroy();
    for (const socket of this.#sockets) socket.destroy();
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of this.#lean) if (connection.overdue(now)) connection.retire();
  }

  #createHandler(
    registrations: readonly Registration[],
    routes: ReadonlyMap<string, Route>,
    maxMessageBytes: number,
    onError: OnError,
  ): (request: NodeRequest, response: NodeResponse) => void {
    const stockRoutes = toStockRoutes(registrations, onError);
    const services = registrations.map(({ service }) => service);
    const described = [...services, ServerReflection, ServerReflectionAlpha];
    const stock = createStockHandler(
      (router) => {
        stockRoutes(router);
        reflectionRoutes(router, described);
      },
      { readMaxBytes: maxMessageBytes, shutdownSignal: this.#shutdown.signal },
      onError,
    );
    return (request, response) => {
      if (request.httpVersionMajor === 1)
        this.#stock.enter(request as IncomingMessage, response as ServerResponse);
      const route = routes.get(request.url ?? "");
      if (route === undefined || !asksLean(route, request)) return stock(request, response);
      serveNode(route, request, response, maxMessageBytes, onError);
    };
  }
}

/** A reader that takes nothing and an upload that stopped end; that the answer takes its time is no stall. */
function boundStalls(stream: Http2Stream, stallMs: number): void {
  stream.setTimeout(stallMs, () => {
    if (stream.writableLength > 0 || !stream.readableEnded) stream.close(constants.NGHTTP2_CANCEL);
  });
}

const preface = "PRI * HTTP/2.0";

function asksLean(route: Route, { method, headers }: NodeRequest): boolean {
  return (
    method === "POST" &&
    headers["content-type"] === route.contentType &&
    (headers["content-encoding"] ?? "identity") === "identity" &&
    (headers["connect-content-encoding"] ?? "identity") === "identity"
  );
}
