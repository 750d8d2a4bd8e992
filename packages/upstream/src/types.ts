import type { ExchangeError } from "./errors.ts";

/** A request's body: none, whole, or in pieces that follow each other. */
export type RequestBody = Uint8Array | readonly Uint8Array[] | null;

/** One HTTP request to a provider, with everything that bounds it. Times in milliseconds, 0 switches a clock off. */
export interface ExchangeRequest {
  readonly method: string;
  /** Scheme, host and port: `https://api.example.com`. */
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /**
   * Flat `[name, value, …]`, final. Host, framing and hop-by-hop headers are this package's and are left out (P9);
   * `content-length` follows from the body.
   */
  readonly headers: readonly string[];
  /** In pieces, they are sent as one; a large piece is never copied. Must not change until the exchange has ended. */
  readonly body: RequestBody;
  /** Bounds name look-up, TCP and TLS of a fresh connection; past it the error's phase is `connect` (E5). */
  readonly connectTimeoutMs: number;
  /** From the start of sending to the response headers; also covers waiting for a connection and connecting (E5). */
  readonly headersTimeoutMs: number;
  /** Silence between bytes of the response (E5). Does not run while the caller has paused. */
  readonly idleTimeoutMs: number;
}

/** The head of a response. Redirects are heads like any other; interim 1xx heads are not reported. */
export interface ExchangeHead {
  readonly status: number;
  /**
   * Flat, lower-case names, in wire order. Without hop-by-hop headers and cookies, and
   * without `content-encoding` and `content-length` where the body is handed over decoded (BH-38).
   */
  readonly headers: readonly string[];
}

/** Receives one exchange. Exactly one of `onEnd` and `onError` is called, neither after `abort()`, none within `send()`. */
export interface ExchangeHandler {
  onHead(head: ExchangeHead): void;
  /** Decoded bytes in order. The chunk is the receiver's to keep. */
  onData(chunk: Uint8Array): void;
  onEnd(): void;
  onError(error: ExchangeError): void;
}

/** A running exchange, in its caller's hands. All three may be called at any time, also after the end. */
export interface Exchange {
  /** Stops reading from the provider; what was already read may still arrive (invariant 6). */
  pause(): void;
  resume(): void;
  /** Closes the connection at once; no callback follows (BH-18). */
  abort(): void;
}

/** Counts of an upstream. The first five are now, the rest since the start. */
export interface UpstreamStats {
  readonly origins: number;
  readonly connecting: number;
  readonly active: number;
  readonly idle: number;
  readonly queued: number;
  readonly connectionsOpened: number;
  /** Exchanges that met a connection closed behind their back and were sent again on a fresh one (invariant 7, BH-40). */
  readonly resent: number;
}

/** Where exchanges with providers are made. */
export interface Upstream {
  send(request: ExchangeRequest, handler: ExchangeHandler): Exchange;
  /** Refuses new exchanges, ends running ones with code `CLOSED`, and resolves when every socket is closed. */
  close(): Promise<void>;
  stats(): UpstreamStats;
}

/** The part of TLS that an operator may set, for providers behind a private authority. */
export interface UpstreamTls {
  /** PEM certificates trusted instead of the built-in ones. */
  readonly ca?: string | string[];
}

/** Bounds of an upstream. */
export interface UpstreamOptions {
  /** Open and opening connections per origin (10,000). Requests beyond it wait their turn. */
  readonly maxConnectionsPerOrigin?: number;
  /** Requests that may wait per origin (1,024); one more fails with code `POOL_FULL`. */
  readonly maxQueuedPerOrigin?: number;
  /** Origins with a connection or a request at one time (1,024). Idle ones give way. */
  readonly maxOrigins?: number;
  /** How long an idle connection is kept (30,000 ms); less where the provider's `Keep-Alive` header says less. */
  readonly keepAliveMs?: number;
  readonly tls?: UpstreamTls;
  readonly clock?: UpstreamClock;
}

/** Time as a port: monotonic milliseconds and one-shot timers that carry their argument, so none needs a closure. */
export interface UpstreamClock {
  now(): number;
  setTimeout<T>(fire: (argument: T) => void, ms: number, argument: T): UpstreamTimer;
  clearTimeout(timer: UpstreamTimer): void;
}

/** A timer's handle; only the clock that made it looks inside. */
export type UpstreamTimer = object;
