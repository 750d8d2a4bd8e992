import type { Part } from "@switchyard/http1";
import {
  ClientConnection,
  type ConnectionOwner,
  discard,
  type Exchange,
} from "../http1/client-connection.ts";
import { BEAT_MS, Pulse } from "./pulse.ts";

export interface PoolOptions {
  /** Connections to one server. */
  maxConnections: number;
  /** Calls that wait for a connection; more are refused. */
  maxWaiting: number;
  connectTimeoutMs: number;
  /** How long an idle connection is kept; below what servers keep theirs for. */
  keepAliveMs: number;
}

/** An exchange that the pool gives a connection to. */
export interface PooledExchange extends Exchange {
  /** Where it went; undefined while it waits. */
  connection: ClientConnection | undefined;
}

/** Is told how a pool's server does. */
export interface PoolWatcher {
  /** It takes no more requests. */
  onLeaving(): void;
  onFrozen(): void;
  /** It was frozen, and speaks. */
  onHeard(): void;
  /** It was frozen, and is no longer asked. */
  onLost(): void;
}

interface Waiting {
  exchange: PooledExchange;
  parts: readonly Part[];
}

// Pipelined calls share few connections: the fewer, the more of them go out in one write.
const sharedConnections = 2;
const sharedDepth = 64;

/** The connections to one server. Calls of short methods share some, one behind the other; all others have their own. */
export class Pool implements ConnectionOwner {
  readonly #host: string;
  readonly #port: number;
  readonly #options: PoolOptions;
  readonly #watcher: PoolWatcher;
  readonly #pulse = new Pulse();
  readonly #connections = new Set<ClientConnection>();
  readonly #idle: ClientConnection[] = [];
  readonly #shared: ClientConnection[] = [];
  readonly #waiting: Waiting[] = [];
  #sweeper: NodeJS.Timeout | undefined;
  /** Asks whether the server is frozen; undefined once it was answered, when it is a connection like all others. */
  #asking: ClientConnection | undefined;
  #closed = false;

  constructor(url: URL, options: PoolOptions, watcher: PoolWatcher) {
    this.#watcher = watcher;
    this.#host = url.hostname.replace(/^\[|\]$/g, "");
    this.#port = url.port === "" ? 80 : Number(url.port);
    this.#options = options;
  }

  /** False: too many wait already. */
  dispatch(exchange: PooledExchange, parts: readonly Part[], shared: boolean): boolean {
    if (this.#closed) return false;
    const connection = (shared ? this.#pickShared() : undefined) ?? this.#takeIdle() ?? this.#open();
    if (connection !== undefined) {
      exchange.connection = connection;
      connection.send(parts, exchange);
      return true;
    }
    if (this.#waiting.length >= this.#options.maxWaiting) return false;
    this.#waiting.push({ exchange, parts });
    return true;
  }

  /** See `ClientConnection.abort`. */
  abort(exchange: PooledExchange, stuck: boolean): void {
    if (exchange.connection !== undefined) return exchange.connection.abort(exchange, stuck);
    const at = this.#waiting.findIndex((waiting) => waiting.exchange === exchange);
    if (at >= 0) this.#waiting.splice(at, 1);
  }

  close(): void {
    this.#closed = true;
    clearInterval(this.#sweeper);
    for (const { exchange } of this.#waiting.splice(0)) exchange.onLost("unsent", "client closed");
    for (const connection of this.#connections) connection.destroy("client closed");
  }

  onIdle(connection: ClientConnection): void {
    connection.idleSince = performance.now();
    if (connection === this.#asking) this.#asking = undefined;
    if (this.#shared.includes(connection)) return;
    const next = this.#waiting.shift();
    if (next === undefined) {
      this.#idle.push(connection);
      return;
    }
    next.exchange.connection = connection;
    connection.send(next.parts, next.exchange);
  }

  onLeaving(): void {
    this.#watcher.onLeaving();
    // All that lie idle end with it; the next call should not have to find out one by one.
    for (const connection of [...this.#idle, ...this.#shared]) {
      if (connection.load === 0) connection.destroy(LEAVES);
    }
  }

  onClosed(connection: ClientConnection): void {
    this.#connections.delete(connection);
    if (connection === this.#asking) this.#asking = undefined;
    remove(this.#idle, connection);
    remove(this.#shared, connection);
    const next = this.#closed ? undefined : this.#waiting.shift();
    if (next === undefined) return;
    if (!this.dispatch(next.exchange, next.parts, false))
      next.exchange.onLost("unsent", "too many calls wait");
  }

  #pickShared(): ClientConnection | undefined {
    let least: ClientConnection | undefined;
    for (const one of this.#shared) if (least === undefined || one.load < least.load) least = one;
    if (least !== undefined && (least.load === 0 || this.#shared.length >= sharedConnections)) {
      return least.load < sharedDepth ? least : undefined;
    }
    const opened = this.#open();
    if (opened !== undefined) this.#shared.push(opened);
    return opened;
  }

  #takeIdle(): ClientConnection | undefined {
    const connection = this.#idle.pop();
    return connection?.closed === true ? this.#takeIdle() : connection;
  }

  #open(): ClientConnection | undefined {
    if (this.#connections.size >= this.#options.maxConnections) return undefined;
    return this.#connect();
  }

  #connect(): ClientConnection {
    const connection = new ClientConnection(this.#host, this.#port, this.#options.connectTimeoutMs, this);
    this.#connections.add(connection);
    this.#sweeper ??= setInterval(() => this.#sweep(), BEAT_MS).unref();
    return connection;
  }

  #sweep(): void {
    const now = performance.now();
    for (const connection of [...this.#idle, ...this.#shared]) {
      const keep = Math.min(this.#options.keepAliveMs, connection.keepAliveMs);
      if (connection.load === 0 && now - connection.idleSince > keep) connection.destroy("idle");
    }
    this.#beat();
    if (this.#connections.size > 0) return;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  #beat(): void {
    let heard = false;
    let waiting = false;
    for (const connection of this.#connections) {
      if (connection.heard) heard = true;
      if (connection.load > 0) waiting = true;
      connection.heard = false;
    }
    const finding = this.#pulse.beat(heard, waiting);
    if (finding === "ask") this.#ask();
    else if (finding === "heard") this.#watcher.onHeard();
    else if (finding === "lost") this.#watcher.onLost();
    else if (finding === "frozen") {
      this.#watcher.onFrozen();
      // Only calls that can be sent again share a connection: they go to another server.
      for (const connection of this.#shared.splice(0)) connection.destroy(HANGS);
    } else if (finding === "gone") {
      const all = Array.from(this.#connections);
      for (const connection of all) connection.destroy(HANGS);
      this.#ask();
    }
  }

  /** On a connection of its own, above the number of all others: it must not wait for any call. */
  #ask(): void {
    this.#asking?.destroy("asked again");
    const connection = this.#connect();
    this.#asking = connection;
    connection.send([healthCheck(this.#host, this.#port)], discard);
  }
}

const LEAVES = "the server leaves";
const HANGS = "the server hangs";

/** Any answer will do, also that there is no such method. */
function healthCheck(host: string, port: number): string {
  const authority = host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
  return (
    `POST /grpc.health.v1.Health/Check HTTP/1.1\r\nhost: ${authority}\r\n` +
    "content-type: application/proto\r\nconnect-protocol-version: 1\r\ncontent-length: 0\r\n\r\n"
  );
}

function remove<T>(list: T[], item: T): void {
  const at = list.indexOf(item);
  if (at >= 0) list.splice(at, 1);
}
