import { Code, ConnectError } from "@connectrpc/connect";
import type { Part } from "@switchyard/http1";
import { Balancer } from "./balancer.ts";
import { Pool, type PooledExchange, type PoolOptions, type PoolWatcher } from "./pool.ts";

export interface ChannelOptions extends Partial<PoolOptions> {
  /** Equal servers, such as `http://127.0.0.1:8082`; at most 31. */
  urls: readonly string[];
  /** How long a server that could not be reached is left alone: at first, and at most. */
  backoff?: { firstMs: number; maxMs: number } | undefined;
  /** Epoch ms; for tests. */
  now?: (() => number) | undefined;
}

/** The servers of one client: which one a call goes to, and the connections to each. */
export class Channel {
  /** `host:port` of each, for the `host` field. */
  readonly hosts: readonly string[];
  readonly #pools: readonly Pool[];
  readonly #balancer: Balancer;
  readonly #now: () => number;

  constructor(options: ChannelOptions) {
    const urls = options.urls.map((url) => new URL(url));
    if (urls.length === 0 || urls.length > 31) throw new RangeError("a client needs 1 to 31 urls");
    for (const url of urls) {
      if (url.protocol !== "http:") throw new RangeError(`not an http url: ${url.origin}`);
    }
    const pool: PoolOptions = {
      maxConnections: options.maxConnections ?? 1024,
      maxWaiting: options.maxWaiting ?? 4096,
      connectTimeoutMs: options.connectTimeoutMs ?? 1000,
      keepAliveMs: options.keepAliveMs ?? 30_000,
    };
    this.hosts = urls.map((url) => url.host);
    const now = options.now ?? Date.now;
    const balancer = new Balancer(urls.length, options.backoff ?? { firstMs: 100, maxMs: 5000 });
    this.#pools = urls.map((url, index) => {
      const watcher: PoolWatcher = {
        onLeaving: () => balancer.leaving(index, now()),
        onFrozen: () => balancer.frozen(index),
        onHeard: () => balancer.reached(index),
        onLost: () => balancer.released(index, now()),
      };
      return new Pool(url, pool, watcher);
    });
    this.#balancer = balancer;
    this.#now = now;
  }

  pick(tried: number): number | undefined {
    return this.#balancer.pick(this.#now(), tried);
  }

  dispatch(index: number, exchange: PooledExchange, parts: readonly Part[], shared: boolean): boolean {
    return (this.#pools[index] as Pool).dispatch(exchange, parts, shared);
  }

  abort(index: number, exchange: PooledExchange, stuck: boolean): void {
    this.#balancer.unknown(index);
    (this.#pools[index] as Pool).abort(exchange, stuck);
  }

  reached(index: number): void {
    this.#balancer.reached(index);
  }

  unreachable(index: number): void {
    this.#balancer.unreachable(index, this.#now());
  }

  unknown(index: number): void {
    this.#balancer.unknown(index);
  }

  close(): void {
    for (const pool of this.#pools) pool.close();
  }
}

/** No server could take the call. The address is not told: it is the operator's, not the caller's. */
export function unavailable(why: string): ConnectError {
  return new ConnectError(why, Code.Unavailable);
}
