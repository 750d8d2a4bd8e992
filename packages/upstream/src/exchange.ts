import type { Dispatcher } from "undici";
import { BodyDecoder, type DecoderSink } from "./body-decoder.ts";
import { contentCodings } from "./codings.ts";
import type { Connection } from "./connection.ts";
import { codeOf, ExchangeError, exchangeFailure, isRefusedRequest } from "./errors.ts";
import { type ParsedHeaders, requestHeaders, responseHeaders } from "./headers.ts";
import type { Lessee, OriginPool } from "./origin-pool.ts";
import type { Exchange, ExchangeHandler, ExchangeRequest, UpstreamClock, UpstreamTimer } from "./types.ts";

/** What an exchange tells the upstream that made it. */
export interface ExchangeOwner {
  readonly clock: UpstreamClock;
  onResent(): void;
  onFinished(exchange: RunningExchange): void;
}

type Stage = "head" | "body" | "decoding" | "done";

/** undici's parser is one for the process and must not be entered from within; `resume` asks this. */
let parserDepth = 0;

/**
 * One exchange from the lease of a connection to its end. It is undici's handler and the caller's handle in one object,
 * so a chunk costs no closure and no allocation of ours.
 */
export class RunningExchange implements Exchange, Lessee, DecoderSink, Dispatcher.DispatchHandler {
  readonly connectTimeoutMs: number;
  cancelConnect: (() => void) | null = null;
  readonly #request: ExchangeRequest;
  readonly #handler: ExchangeHandler;
  readonly #pool: OriginPool;
  readonly #owner: ExchangeOwner;
  readonly #startedAt: number;
  #stage: Stage = "head";
  #connection: Connection | null = null;
  #controller: Dispatcher.DispatchController | null = null;
  #decoder: BodyDecoder | null = null;
  /** Set when the body broke while decoded bytes of it are still on their way out. */
  #brokenBy: ExchangeError | null = null;
  #dispatching = false;
  #paused = false;
  #choked = false;
  #timer: UpstreamTimer | null = null;
  #timerAt = 0;
  #lastByteAt = 0;

  constructor(request: ExchangeRequest, handler: ExchangeHandler, pool: OriginPool, owner: ExchangeOwner) {
    this.connectTimeoutMs = request.connectTimeoutMs;
    this.#request = request;
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
    this.#controller?.pause();
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
    const { method, path, headers, body } = this.#request;
    this.#dispatching = true;
    connection.dispatch(
      {
        method,
        path,
        headers: requestHeaders(headers) as string[],
        body,
        blocking: false,
      },
      this,
    );
    this.#dispatching = false;
  }

  onRefused(error: ExchangeError): void {
    this.#fail(error);
  }

  // --- undici's handler

  onRequestStart(controller: Dispatcher.DispatchController): void {
    this.#controller = controller;
  }

  onResponseStart(controller: Dispatcher.DispatchController, status: number, headers: ParsedHeaders): void {
    if (this.#stage !== "head" || status < 200) {
      return;
    }
    this.#stage = "body";
    this.#controller = controller;
    this.#startIdleClock();
    const codings = contentCodings(headers["content-encoding"]);
    if (codings !== null) {
      this.#decoder = new BodyDecoder(codings, this);
    }
    parserDepth += 1;
    try {
      this.#handler.onHead({ status, headers: responseHeaders(headers, codings !== null) });
    } finally {
      parserDepth -= 1;
    }
    if (this.#paused) {
      controller.pause();
      this.#decoder?.pause();
    }
  }

  onResponseData(controller: Dispatcher.DispatchController, chunk: Uint8Array): void {
    // undici hands over an empty chunk when it goes on after a pause; a caller that pauses on it would never get past.
    if (this.#stage !== "body" || chunk.length === 0) {
      return;
    }
    if (this.#request.idleTimeoutMs > 0) {
      this.#lastByteAt = this.#owner.clock.now();
    }
    if (this.#decoder !== null) {
      if (!this.#decoder.write(chunk)) {
        this.#choked = true;
        controller.pause();
      }
      return;
    }
    parserDepth += 1;
    try {
      this.#handler.onData(chunk);
    } finally {
      parserDepth -= 1;
    }
  }

  onResponseEnd(): void {
    if (this.#stage !== "body") {
      return;
    }
    this.#returnConnection();
    if (this.#decoder !== null) {
      this.#stage = "decoding";
      this.#stopTimer();
      this.#decoder.end();
      return;
    }
    this.#finish();
    parserDepth += 1;
    try {
      this.#handler.onEnd();
    } finally {
      parserDepth -= 1;
    }
  }

  onResponseError(_controller: Dispatcher.DispatchController | null, error: Error): void {
    if (this.#stage === "done") {
      return;
    }
    if (this.#stage === "head" && this.#mayResend(error)) {
      this.#resend();
      return;
    }
    const failure = exchangeFailure(error, this.#stage !== "head");
    if (this.#dispatching) {
      queueMicrotask(() => this.#fail(failure));
    } else if (this.#decoder !== null) {
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
  #mayResend(error: Error): boolean {
    const connection = this.#connection;
    return (
      connection !== null && connection.reused && !connection.byteSeen && !isRefusedRequest(codeOf(error))
    );
  }

  #resend(): void {
    const connection = this.#connection;
    if (connection !== null) {
      this.#connection = null;
      this.#controller = null;
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
    const controller = this.#controller;
    if (controller === null || this.#paused || this.#choked || this.#stage !== "body") {
      return;
    }
    this.#lastByteAt = this.#owner.clock.now();
    if (parserDepth === 0) {
      controller.resume();
    } else {
      queueMicrotask(() => this.#resumeWire());
    }
  }

  /** After undici has left the parser: only then is it known whether the socket stays open. */
  #returnConnection(): void {
    const connection = this.#connection;
    if (connection !== null) {
      this.#connection = null;
      queueMicrotask(() => this.#pool.release(connection));
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
