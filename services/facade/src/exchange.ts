import { type ContentCoding, contentCodings, type Roster, type Rostered } from "@switchyard/http1";
import type { Socket } from "node:net";
import type { InferenceService, InferRequest } from "@switchyard/proto/inference/v1/inference_service";
import { CallContext, type ServiceImpl, toConnectError } from "@switchyard/rpc";
import type { Logger, Metrics } from "@switchyard/telemetry";
import type { Admission } from "./admission.ts";
import { Answer } from "./answer.ts";
import { type BodyFault, BodyReader } from "./body-reader.ts";
import { Inflation } from "./inflation.ts";
import type { ExchangeEvents, RequestSource, ResponseWriter } from "./ports.ts";
import { OVERLOADED, type Refusal, refusal } from "./refusal.ts";
import type { RequestHead } from "./request-head.ts";
import type { Face } from "./routes.ts";

/** What all exchanges of a server share. */
export interface ExchangeHost {
  readonly inference: Pick<ServiceImpl<typeof InferenceService>, "infer">;
  readonly admission: Admission;
  readonly maxBodyBytes: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly active: Roster<Exchange>;
  /** Those whose response waited behind another when it was made: it has no socket that tells it of its end. */
  readonly pipelined: Set<Exchange>;
  /** No request follows on any connection. */
  readonly closing: boolean;
  /** Called when an exchange is over, however it ended. */
  left(exchange: Exchange): void;
}

/** The parts of a request that the server has found out. */
export interface Target {
  readonly method: string;
  /** It was a HEAD: the answer has the head alone. */
  readonly bodyless: boolean;
  readonly path: string;
  readonly query: string;
  readonly face: Face;
  readonly head: RequestHead;
  readonly requestId: string;
}

/** As much of an unwanted body is read and dropped so that the caller can read its refusal, bytes. */
const MAX_DISCARDED = 256 * 1024 * 1024;

/** One request and its answer: reads the body within bounds, makes the call, and ends it when the caller leaves. */
export class Exchange implements Rostered, ExchangeEvents {
  place = -1;
  readonly #host: ExchangeHost;
  readonly #source: RequestSource;
  readonly #writer: ResponseWriter;
  readonly #target: Target;
  readonly answer: Answer;
  #wire: BodyReader | undefined;
  #codings: readonly ContentCoding[] = [];
  #inflation: Inflation | undefined;
  #call: CallContext | undefined;
  #discarded = 0;
  #entered = false;
  #over = false;

  constructor(host: ExchangeHost, source: RequestSource, writer: ResponseWriter, target: Target) {
    this.#host = host;
    this.#source = source;
    this.#writer = writer;
    this.#target = target;
    this.answer = new Answer(writer, target.face, target.requestId, target.bodyless);
    this.answer.lastOnConnection = host.closing;
    host.active.add(this);
    source.attach(this);
  }

  get socket(): Socket {
    return this.#source.socket;
  }

  /** Reads the body and calls. `awaitsContinue`: the caller sends its body only when told to. */
  run(awaitsContinue: boolean): void {
    const { head } = this.#target;
    if (!this.#host.admission.enter()) {
      this.refuse(OVERLOADED, awaitsContinue);
      return;
    }
    this.#entered = true;
    const codings = contentCodings(head.contentEncoding);
    if (codings === undefined) {
      this.refuse(UNSUPPORTED_ENCODING, awaitsContinue);
    } else if (head.contentLength !== undefined && head.contentLength > this.#host.maxBodyBytes) {
      this.refuse(this.#tooLarge(), awaitsContinue);
    } else if (!this.#hasBody()) {
      this.#infer(new Uint8Array(0));
    } else {
      this.#codings = codings;
      this.#wire = this.#openReader(head.contentLength);
      if (awaitsContinue) this.#writer.writeContinue();
      this.#source.readBody();
    }
  }

  /** Refuses by the facade itself. `close`: the connection cannot be used any more. */
  refuse(cause: Refusal, close = false): void {
    if (this.answer.over) return;
    this.#host.metrics.refusal(cause.code).inc();
    const { method, requestId } = this.#target;
    this.#host.logger.info("request refused", {
      request: requestId,
      method,
      status: cause.status,
      code: cause.code,
    });
    if (close) this.answer.lastOnConnection = true;
    this.answer.refuse(cause);
    this.#call?.cancel();
    // What the caller is still sending is read on and dropped: closing at once would reset the answer away.
    if (this.#wire === undefined && this.#hasBody()) this.#source.readBody();
    this.#wire?.release();
    this.#inflation?.release();
  }

  onData(piece: Buffer): void {
    if (this.#over || this.answer.over) {
      this.#discarded += piece.length;
      if (this.#discarded > MAX_DISCARDED) this.#source.socket.destroy();
      return;
    }
    const fault = this.#wire?.push(piece);
    if (fault !== undefined) this.refuse(this.#refusalOf(fault));
  }

  onEnd(): void {
    const wire = this.#wire;
    if (this.answer.over || wire === undefined) return;
    const body = wire.take();
    if (this.#codings.length === 0 || body.length === 0) {
      this.#infer(body);
      return;
    }
    this.#inflation = new Inflation(
      this.#codings,
      () => this.#openReader(),
      (fault, decoded) => {
        wire.release();
        if (this.answer.over) return;
        if (fault === undefined) this.#infer(decoded);
        else this.refuse(this.#refusalOf(fault));
      },
    );
    this.#inflation.run(body);
  }

  /** No byte went either way for the server's time-out. Waiting for the answer is not the caller's fault. */
  onTimeout(): void {
    if (this.#wire !== undefined && !this.#source.complete && !this.answer.over) {
      this.refuse(STALLED_BODY, true);
    } else if (this.#source.socket.writableLength > 0) {
      this.#host.logger.info("caller takes no bytes: dropped", { request: this.#target.requestId });
      this.#source.socket.destroy();
    }
  }

  /** The answer is out, or the caller left. */
  onClose(): void {
    if (this.#over) return;
    this.#over = true;
    this.answer.abandon();
    if (!this.#writer.writableFinished) this.#call?.cancel();
    this.#wire?.release();
    this.#inflation?.release();
    if (this.#entered) this.#host.admission.leave();
    this.#host.active.delete(this);
    if (this.#host.pipelined.size > 0) this.#host.pipelined.delete(this);
    this.#host.left(this);
  }

  #hasBody(): boolean {
    const { contentLength, chunked } = this.#target.head;
    return chunked || (contentLength !== undefined && contentLength > 0);
  }

  #openReader(told?: number): BodyReader {
    return new BodyReader(this.#host.maxBodyBytes, this.#host.admission, told);
  }

  #infer(body: Uint8Array): void {
    const { method, path, query, head, requestId } = this.#target;
    const call =
      head.key === undefined
        ? new CallContext()
        : new CallContext({ headers: { authorization: `Bearer ${head.key}` } });
    this.#call = call;
    const request: InferRequest = {
      $typeName: "switchyard.inference.v1.InferRequest",
      method,
      path,
      query,
      headers: head.headers,
      requestId,
      body,
    };
    try {
      this.#host.inference.infer(request, this.answer, call);
    } catch (error) {
      const fields = { request: requestId, error: error instanceof Error ? error.name : typeof error };
      this.#host.logger.error("inference threw", fields);
      this.answer.fail(toConnectError(error));
    }
  }

  #refusalOf(fault: BodyFault): Refusal {
    if (fault === "too_large") return this.#tooLarge();
    return fault === "overloaded" ? OVERLOADED : DAMAGED;
  }

  #tooLarge(): Refusal {
    const { maxBodyBytes } = this.#host;
    return refusal(413, "request_too_large", `the request body is over the limit of ${maxBodyBytes} bytes`);
  }
}

const UNSUPPORTED_ENCODING = refusal(
  415,
  "unsupported_encoding",
  "this Content-Encoding is not known; gzip, br, deflate, zstd and identity are",
  { "accept-encoding": "gzip, br, deflate, zstd" },
);
const DAMAGED = refusal(
  400,
  "invalid_encoding",
  "the request body does not decompress by its Content-Encoding",
);
const STALLED_BODY = refusal(408, "invalid_request", "the request body stopped coming");
