import { Roster } from "@switchyard/http1";
import { systemClock } from "./clock.ts";
import { connectTarget } from "./connect.ts";
import { ExchangeError } from "./errors.ts";
import { type ExchangeOwner, RunningExchange } from "./exchange.ts";
import { OriginPool, type PoolSettings } from "./origin-pool.ts";
import type {
  Exchange,
  ExchangeHandler,
  ExchangeRequest,
  Upstream,
  UpstreamClock,
  UpstreamOptions,
  UpstreamStats,
  UpstreamTls,
} from "./types.ts";

// Answers stream for minutes, so a busy process holds as many connections as it serves requests.
const MAX_CONNECTIONS_PER_ORIGIN = 10_000;
const MAX_QUEUED_PER_ORIGIN = 1024;
const MAX_ORIGINS = 1024;
const KEEP_ALIVE_MS = 30_000;

/** Makes an upstream with no connection yet. */
export function createUpstream(options: UpstreamOptions = {}): Upstream {
  return new PooledUpstream(options);
}

class PooledUpstream implements Upstream, ExchangeOwner, PoolSettings {
  readonly clock: UpstreamClock;
  readonly maxConnections: number;
  readonly maxQueued: number;
  readonly keepAliveMs: number;
  readonly #maxOrigins: number;
  readonly #tls: UpstreamTls;
  readonly #pools = new Map<string, OriginPool>();
  readonly #running = new Roster<RunningExchange>();
  #openedByFormer = 0;
  #resent = 0;
  #closed = false;

  constructor(options: UpstreamOptions) {
    this.clock = options.clock ?? systemClock;
    this.maxConnections = options.maxConnectionsPerOrigin ?? MAX_CONNECTIONS_PER_ORIGIN;
    this.maxQueued = options.maxQueuedPerOrigin ?? MAX_QUEUED_PER_ORIGIN;
    this.keepAliveMs = options.keepAliveMs ?? KEEP_ALIVE_MS;
    this.#maxOrigins = options.maxOrigins ?? MAX_ORIGINS;
    this.#tls = options.tls ?? {};
  }

  send(request: ExchangeRequest, handler: ExchangeHandler): Exchange {
    const pool = this.#closed ? new ExchangeError("connect", "CLOSED") : this.#pool(request.origin);
    if (pool instanceof ExchangeError) {
      return refused(pool, handler);
    }
    const head = pool.heads.write(request);
    if (head === undefined) {
      pool.reportIfEmpty();
      return refused(new ExchangeError("send", "INVALID_REQUEST"), handler);
    }
    const exchange = new RunningExchange(request, head, handler, pool, this);
    this.#running.add(exchange);
    return exchange;
  }

  async close(): Promise<void> {
    this.#closed = true;
    const closed = Promise.all([...this.#pools.values()].map((pool) => pool.close()));
    for (const exchange of this.#running.all()) {
      exchange.end("CLOSED");
    }
    await closed;
  }

  stats(): UpstreamStats {
    const sum = { connecting: 0, active: 0, idle: 0, queued: 0, connectionsOpened: this.#openedByFormer };
    for (const { counts } of this.#pools.values()) {
      sum.connecting += counts.connecting;
      sum.active += counts.active;
      sum.idle += counts.idle;
      sum.queued += counts.queued;
      sum.connectionsOpened += counts.opened;
    }
    return { origins: this.#pools.size, ...sum, resent: this.#resent };
  }

  onResent(): void {
    this.#resent += 1;
  }

  onFinished(exchange: RunningExchange): void {
    this.#running.delete(exchange);
  }

  onEmpty(pool: OriginPool): void {
    if (this.#pools.get(pool.origin) === pool) {
      this.#pools.delete(pool.origin);
      this.#openedByFormer += pool.counts.opened;
    }
  }

  #pool(origin: string): OriginPool | ExchangeError {
    const known = this.#pools.get(origin);
    if (known !== undefined) {
      return known;
    }
    if (this.#pools.size >= this.#maxOrigins && !this.#makeRoom()) {
      return new ExchangeError("connect", "POOL_FULL");
    }
    try {
      const pool = new OriginPool(origin, connectTarget(origin, this.#tls), this);
      this.#pools.set(origin, pool);
      return pool;
    } catch {
      return new ExchangeError("send", "INVALID_REQUEST");
    }
  }

  #makeRoom(): boolean {
    for (const pool of this.#pools.values()) {
      if (pool.resting) {
        pool.dropIdle();
        return true;
      }
    }
    return false;
  }
}

/** An exchange that fails before it starts; in its own turn, so that no handler is called within `send`. */
function refused(error: ExchangeError, handler: ExchangeHandler): Exchange {
  let aborted = false;
  queueMicrotask(() => {
    if (!aborted) {
      handler.onError(error);
    }
  });
  return {
    pause: () => undefined,
    resume: () => undefined,
    abort: () => {
      aborted = true;
    },
  };
}
