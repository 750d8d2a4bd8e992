import type { BodyEndpoint, StreamReader, TokenUsage } from "@switchyard/providers";
import { recogniseError } from "@switchyard/providers";
import type {
  Exchange,
  ExchangeError,
  ExchangeHandler,
  ExchangeHead,
  ExchangeRequest,
  Upstream,
} from "@switchyard/upstream";
import { readAnswer, streamReaderFor } from "./answers.ts";
import { exchangeFailure } from "./attempt-failure.ts";
import type { AttemptFailure } from "./attempt-failure.ts";
import { concat, decodeText, headerOf } from "./bytes.ts";

/** E6: the gate holds no more than this, and no longer. */
const GATE_BYTES = 64 * 1024;
const GATE_MS = 30_000;
/** P1: a response that does not stream is held whole up to this, so that a bad one can still fail over. */
const WHOLE_BYTES = 8 * 1024 * 1024;
const ERROR_BYTES = 256 * 1024;
/** How much of an error body recognition reads. */
const RECOGNISED_BYTES = 64 * 1024;

/** What one attempt is to do. Times in ms, 0 = off. */
export interface AttemptPlan {
  readonly exchange: ExchangeRequest;
  readonly family: string;
  readonly endpoint: BodyEndpoint;
  /** Take the usage chunk that the caller did not ask for out of the stream (P4). */
  readonly stripUsage: boolean;
  /** The embedding format the caller asked for. */
  readonly encodingFormat: "float" | "base64" | undefined;
  readonly streams: boolean;
  readonly firstTokenTimeoutMs: number;
  /** Runs to the end of a response that does not stream (E5). */
  readonly wholeTimeoutMs: number;
}

/** What is known of an answer that served. */
export interface ServedFacts {
  readonly usage: TokenUsage | undefined;
  readonly model: string | undefined;
}

/** Who made the attempt. `onServe` and `onFailed` exclude each other; after `onServe` comes one of the other two. */
export interface AttemptListener {
  /** The answer commits: nothing is sent twice from here on (invariant 5). */
  onServe(head: ExchangeHead, facts: ServedFacts | undefined): void;
  /** False asks to wait for {@link Attempt.resume}. */
  onBytes(bytes: Uint8Array): boolean;
  onServed(facts: ServedFacts): void;
  /** The answer broke after it had begun; `event` is the provider's own error event, where it sent one. */
  onBroken(failure: AttemptFailure, event: Uint8Array | undefined): void;
  onFailed(failure: AttemptFailure): void;
}

/** One call to one deployment: holds what has not committed, tells how it ended, exactly once (invariant 3). */
export class Attempt implements ExchangeHandler {
  readonly #plan: AttemptPlan;
  readonly #listener: AttemptListener;
  readonly #now: () => number;
  readonly #startedAt: number;
  #exchange: Exchange | undefined;
  #head: ExchangeHead | undefined;
  #mode: "waiting" | "stream" | "whole" | "passing" | "error" | "over" = "waiting";
  #reader: StreamReader | undefined;
  #held: Uint8Array[] = [];
  #heldBytes = 0;
  #serving = false;
  #firstTokenTimer: NodeJS.Timeout | undefined;
  #boundTimer: NodeJS.Timeout | undefined;

  constructor(plan: AttemptPlan, listener: AttemptListener, now: () => number) {
    this.#plan = plan;
    this.#listener = listener;
    this.#now = now;
    this.#startedAt = now();
  }

  start(upstream: Upstream): void {
    const { firstTokenTimeoutMs } = this.#plan;
    if (firstTokenTimeoutMs > 0 && this.#plan.streams) {
      this.#firstTokenTimer = setTimeout(() => this.#timeOut("no token in time"), firstTokenTimeoutMs);
    }
    this.#exchange = upstream.send(this.#plan.exchange, this);
  }

  /** The caller left, or the process ends: no callback follows. */
  abort(): void {
    this.#over();
    this.#exchange?.abort();
  }

  resume(): void {
    this.#exchange?.resume();
  }

  onHead(head: ExchangeHead): void {
    this.#head = head;
    if (head.status < 200 || head.status > 299) {
      this.#mode = "error";
    } else if (/^\s*text\/event-stream\b/i.test(headerOf(head.headers, "content-type") ?? "")) {
      this.#mode = "stream";
      this.#reader = streamReaderFor(this.#plan.endpoint, this.#plan.stripUsage);
      this.#boundTimer = setTimeout(() => this.#commit(), GATE_MS);
    } else {
      this.#mode = "whole";
      this.#boundWhole();
    }
  }

  onData(chunk: Uint8Array): void {
    switch (this.#mode) {
      case "stream":
        this.#onStreamData(chunk);
        return;
      case "whole":
        this.#hold(chunk);
        if (this.#heldBytes > WHOLE_BYTES) {
          this.#mode = "passing";
          this.#commit();
        }
        return;
      case "passing":
        this.#forward(chunk);
        return;
      case "error":
        this.#hold(chunk);
        if (this.#heldBytes > ERROR_BYTES) {
          this.#exchange?.abort();
          this.#failWithAnswer();
        }
        return;
      case "waiting":
      case "over":
        return;
    }
  }

  onEnd(): void {
    switch (this.#mode) {
      case "stream":
        this.#onStreamEnd();
        return;
      case "whole":
        this.#onWhole();
        return;
      case "passing":
        this.#served({ usage: undefined, model: undefined });
        return;
      case "error":
        this.#failWithAnswer();
        return;
      case "waiting":
      case "over":
        return;
    }
  }

  onError(error: ExchangeError): void {
    if (this.#mode === "over") return;
    if (this.#mode === "error") {
      this.#failWithAnswer();
      return;
    }
    const failure = exchangeFailure(error, this.#head?.status, this.#mode === "stream");
    if (this.#serving) this.#broken(failure, undefined);
    else this.#failed(failure);
  }

  #onStreamData(chunk: Uint8Array): void {
    const reader = this.#reader as StreamReader;
    const out: Uint8Array[] = [];
    reader.push(chunk, out);
    this.#pass(out, reader.committed);
    if (reader.failure !== undefined || reader.overflowed) {
      this.#exchange?.abort();
      this.#onStreamFault(reader);
    }
  }

  #pass(out: readonly Uint8Array[], committed: boolean): void {
    if (this.#serving) {
      for (const bytes of out) this.#forward(bytes);
      return;
    }
    for (const bytes of out) this.#hold(bytes);
    if (committed || this.#heldBytes > GATE_BYTES) this.#commit();
  }

  #onStreamEnd(): void {
    const reader = this.#reader as StreamReader;
    const out: Uint8Array[] = [];
    const verdict = reader.finish(out);
    this.#pass(out, verdict === "complete");
    if (verdict === "complete") this.#served(reader);
    else this.#onStreamFault(reader);
  }

  #onStreamFault(reader: StreamReader): void {
    const failure = this.#streamFailure(reader);
    if (this.#serving) this.#broken(failure, reader.failure);
    else this.#failed(failure);
  }

  #streamFailure(reader: StreamReader): AttemptFailure {
    const head = this.#head as ExchangeHead;
    if (reader.failure !== undefined) return this.#recognise(head, reader.failure, true);
    const empty = !reader.overflowed && reader.done;
    return {
      error: empty ? "invalid_response" : "stream_error",
      status: head.status,
      retryAfterMs: undefined,
      message: reader.overflowed
        ? "the provider's stream held an event that is too large"
        : empty
          ? "the provider's stream held no answer"
          : "the provider's stream ended before its answer was complete",
      answer: "unusable",
    };
  }

  #onWhole(): void {
    const head = this.#head as ExchangeHead;
    const body = concat(this.#held, this.#heldBytes);
    const answer = readAnswer(this.#plan.endpoint, body, this.#plan.encodingFormat);
    if (answer.kind === "error") {
      this.#failed(this.#recognise(head, body, true));
    } else if (answer.kind === "unusable") {
      this.#failed({
        error: "invalid_response",
        status: head.status,
        retryAfterMs: undefined,
        message: answer.reason,
        answer: "unusable",
      });
    } else {
      this.#serving = true;
      this.#listener.onServe(head, answer);
      this.#listener.onBytes(answer.body);
      this.#served(answer);
    }
  }

  #failWithAnswer(): void {
    this.#failed(this.#recognise(this.#head as ExchangeHead, concat(this.#held, this.#heldBytes), false));
  }

  #recognise(head: ExchangeHead, body: Uint8Array, inStream: boolean): AttemptFailure {
    const recognised = recogniseError(
      {
        family: this.#plan.family,
        status: head.status,
        headers: (name) => headerOf(head.headers, name),
        body: decodeText(body.subarray(0, RECOGNISED_BYTES)),
        inStream,
      },
      this.#now(),
    );
    return {
      error: recognised.class,
      status: head.status,
      retryAfterMs: recognised.retryAfterMs,
      message: recognised.message,
      answer: { status: head.status, headers: head.headers, body },
    };
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #commit(): void {
    if (this.#serving || this.#mode === "over") return;
    this.#serving = true;
    this.#clearTimers();
    this.#listener.onServe(this.#head as ExchangeHead, undefined);
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    if (held.length > 0) this.#forward(held.length === 1 ? (held[0] as Uint8Array) : concat(held));
  }

  #forward(bytes: Uint8Array): void {
    if (!this.#listener.onBytes(bytes)) this.#exchange?.pause();
  }

  /** E5: the attempt's clock covers the body of a response that does not stream, where the policy says so. */
  #boundWhole(): void {
    const bound = this.#plan.wholeTimeoutMs;
    if (bound === 0) return;
    const left = Math.max(1, bound - (this.#now() - this.#startedAt));
    this.#boundTimer = setTimeout(() => this.#timeOut("no complete response in time"), left);
  }

  #timeOut(message: string): void {
    if (this.#mode === "over" || this.#serving) return;
    this.#exchange?.abort();
    this.#failed({
      error: "timeout",
      status: undefined,
      retryAfterMs: undefined,
      message,
      answer: undefined,
    });
  }

  #served(facts: ServedFacts): void {
    this.#over();
    this.#listener.onServed(facts);
  }

  #broken(failure: AttemptFailure, event: Uint8Array | undefined): void {
    this.#over();
    this.#listener.onBroken(failure, event);
  }

  #failed(failure: AttemptFailure): void {
    this.#over();
    this.#listener.onFailed(failure);
  }

  #over(): void {
    this.#mode = "over";
    this.#held = [];
    this.#clearTimers();
  }

  #clearTimers(): void {
    clearTimeout(this.#firstTokenTimer);
    clearTimeout(this.#boundTimer);
  }
}
