import { contentCodings, type Fields, type Rostered } from "@switchyard/http1";
import { BodyDecoder, type DecoderSink } from "./body-decoder.ts";
import type { Connection, ConnectionUser } from "./connection.ts";
import { ExchangeError, exchangeFailure } from "./errors.ts";
import { responseHeaders } from "./headers.ts";
import type { Lessee, OriginPool } from "./origin-pool.ts";
import type { Exchange, ExchangeHandler, ExchangeRequest, UpstreamClock, UpstreamTimer } from "./types.ts";

/** What an exchange tells the upstream that made it. */
export interface ExchangeOwner {
  readonly clock: UpstreamClock;
  onResent(): void;
  onFinished(exchange: RunningExchange): void;
}

type Stage = "head" | "body" | "decoding" | "done";

/**
 * One exchange from the lease of a connection to its end. It is the connection's user and the caller's handle in one
 * object, so a chunk costs no closure and no allocation of ours.
 */
export class RunningExchange implements Exchange, Lessee, DecoderSink, ConnectionUser, Rostered {
  readonly connectTimeoutMs: number;
  cancelConnect: (() => void) | null = null;
  place = -1;
  readonly #request: ExchangeRequest;
  readonly #head: string;
  readonly #handler: ExchangeHandler;
  readonly #pool: OriginPool;
  readonly #owner: ExchangeOwner;
  readonly #startedAt: number;
  #stage: Stage = "head";
  #connection: Connection | null = null;
  #decoder: BodyDecoder | null = null;
  /** Set when the body broke while decoded bytes of it are still on their way out. */
  #brokenBy: ExchangeError | null = null;
  #paused = false;
  #choked = false;
  #timer: UpstreamTimer | null = null;
  #timerAt = 0;
  #lastByteAt = 0;

  /** `head` is the request's, whole. */
  constructor(
    request: ExchangeRequest,
    head: string,
    handler: ExchangeHandler,
    pool: OriginPool,
    owner: ExchangeOwner,
  ) {
    this.connectTimeoutMs = request.connectTimeoutMs;
    this.#request = request;
    this.#head = head;
    this.#handler = handler;
    this.#pool = pool;
    this.#owner = owner;
    this.#startedAt = owner.clock.now();
    if (request.headersTimeoutMs > 0) {
      this.#armTimer(this.#startedAt, this.#startedAt + request.headersTimeoutMs);
    }
    pool.acquire(this);
  }

  // --- the caller's handle

  pause(): void {
    if (this.#paused || this.#stage === "done") {
      return;
    }
    this.#paused = true;
    if (this.#stage === "body") {
      this.#connection?.pause();
    }
    this.#decoder?.pause();
  }

  resume(): void {
    if (!this.#paused || this.#stage === "done") {
      return;
    }
    this.#paused = false;
    this.#decoder?.resume();
    this.#resumeWire();
  }

  abort(): void {
    if (this.#stage !== "done") {
      this.#finish();
      this.#dropConnection();
      this.#decoder?.destroy();
    }
  }

  /** Ends the exchange with an error, from outside. */
  end(code: string): void {
    const { phase } =
      this.#stage === "head" ? new ExchangeError("before_headers") : new ExchangeError("body");
    this.#fail(new ExchangeError(phase, code));
  }

  // --- the pool's lessee

  onLease(connection: Connection): void {
    this.#connection = connection;
    const { method, body } = this.#request;
    connection.send(this.#head, body, method === "HEAD", this);
  }

  onRefused(error: ExchangeError): void {
    this.#fail(error);
  }

  // --- the connection's user

  onResponseHead(status: number, fields: Fields): void {
    this.#stage = "body";
    this.#startIdleClock();
    const codings = contentCodings(fields.list("content-encoding"));
    const decodes = codings !== undefined && codings.length > 0;
    if (decodes) {
      this.#decoder = new BodyDecoder(codings, this);
    }
    this.#handler.onHead({ status, headers: responseHeaders(fields, decodes) });
    if (this.#paused) {
      this.#connection?.pause();
      this.#decoder?.pause();
    }
  }

  onResponseData(chunk: Uint8Array): void {
    if (this.#request.idleTimeoutMs > 0) {
      this.#lastByteAt = this.#owner.clock.now();
    }
    if (this.#decoder === null) {
      this.#handler.onData(chunk);
    } else if (!this.#decoder.write(chunk)) {
      this.#choked = true;
      this.#connection?.pause();
    }
  }

  onResponseEnd(): void {
    this.#returnConnection();
    if (this.#decoder !== null) {
      this.#stage = "decoding";
      this.#stopTimer();
      this.#decoder.end();
      return;
    }
    this.#finish();
    this.#handler.onEnd();
  }

  onResponseError(code: string | undefined): void {
    if (this.#stage === "head" && this.#mayResend()) {
      this.#resend();
      return;
    }
    const failure = exchangeFailure(code, this.#stage !== "head");
    if (this.#decoder !== null) {
      // What came before the break is decoded and handed over first.
      this.#brokenBy = failure;
      this.#stage = "decoding";
      this.#stopTimer();
      this.#dropConnection();
      this.#decoder.end();
    } else {
      this.#fail(failure);
    }
  }

  // --- the decoder's sink

  onDecoded(chunk: Uint8Array): void {
    if (this.#stage !== "done") {
      this.#handler.onData(chunk);
    }
  }

  onDecodedEnd(): void {
    if (this.#stage === "done") {
      return;
    }
    if (this.#brokenBy !== null) {
      this.#fail(this.#brokenBy);
      return;
    }
    this.#finish();
    this.#handler.onEnd();
  }

  onDecodeError(code: string | undefined): void {
    this.#fail(this.#brokenBy ?? new ExchangeError("decode", code));
  }

  onWritable(): void {
    this.#choked = false;
    this.#resumeWire();
  }

  // --- sending again

  /** Invariant 7's exception: only on a socket that served before, and only if not one byte came back (BH-40). */
  #mayResend(): boolean {
    const connection = this.#connection;
    return connection !== null && connection.reused && !connection.byteSeen;
  }

  #resend(): void {
    const connection = this.#connection;
    if (connection !== null) {
      this.#connection = null;
      this.#owner.onResent();
      this.#pool.replace(connection, this);
    }
  }

  // --- clocks

  #startIdleClock(): void {
    const { idleTimeoutMs } = this.#request;
    if (idleTimeoutMs === 0) {
      this.#stopTimer();
      return;
    }
    const now = this.#owner.clock.now();
    this.#lastByteAt = now;
    // A headers timer that fires before the idle deadline is left to fire and arm the rest.
    if (this.#timer === null || this.#timerAt > now + idleTimeoutMs) {
      this.#armTimer(now, now + idleTimeoutMs);
    }
  }

  #armTimer(now: number, at: number): void {
    this.#stopTimer();
    this.#timerAt = at;
    this.#timer = this.#owner.clock.setTimeout(onTimer, Math.max(1, Math.ceil(at - now)), this);
  }

  #stopTimer(): void {
    if (this.#timer !== null) {
      this.#owner.clock.clearTimeout(this.#timer);
      this.#timer = null;
    }
  }

  /** One timer serves both clocks: bytes only move a time stamp, and a timer that finds it moved is armed for the rest. */
  checkClocks(): void {
    this.#timer = null;
    const now = this.#owner.clock.now();
    if (this.#stage === "head") {
      const deadline = this.#startedAt + this.#request.headersTimeoutMs;
      if (now >= deadline) {
        this.#fail(new ExchangeError("headers_timeout"));
      } else {
        this.#armTimer(now, deadline);
      }
    } else if (this.#stage === "body") {
      // The provider cannot be blamed for silence while nobody reads.
      const since = this.#paused || this.#choked ? now : this.#lastByteAt;
      const deadline = since + this.#request.idleTimeoutMs;
      if (now >= deadline) {
        this.#fail(new ExchangeError("idle_timeout"));
      } else {
        this.#armTimer(now, deadline);
      }
    }
  }

  // --- ends

  #fail(error: ExchangeError): void {
    if (this.#stage === "done") {
      return;
    }
    this.#finish();
    this.#dropConnection();
    this.#decoder?.destroy();
    this.#handler.onError(error);
  }

  #finish(): void {
    this.#stage = "done";
    this.#stopTimer();
    this.#owner.onFinished(this);
  }

  #resumeWire(): void {
    if (this.#paused || this.#choked || this.#stage !== "body") {
      return;
    }
    this.#lastByteAt = this.#owner.clock.now();
    this.#connection?.resume();
  }

  #returnConnection(): void {
    const connection = this.#connection;
    if (connection !== null) {
      this.#connection = null;
      this.#pool.release(connection);
    }
  }

  #dropConnection(): void {
    const connection = this.#connection;
    if (connection === null) {
      this.#pool.cancel(this);
    } else {
      this.#connection = null;
      connection.destroy();
      this.#pool.release(connection);
    }
  }
}

function onTimer(exchange: RunningExchange): void {
  exchange.checkClocks();
}
