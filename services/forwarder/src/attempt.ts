import type { ExchangePlan, StreamReader, TokenUsage } from "@switchyard/providers";
import { ExchangeError } from "@switchyard/upstream";
import type {
  Exchange,
  ExchangeHandler,
  ExchangeHead,
  ExchangeRequest,
  Upstream,
} from "@switchyard/upstream";
import { exchangeFailure, providerFailure, streamFailure, timedOut, unusable } from "./attempt-failure.ts";
import type { Answered, AttemptFailure } from "./attempt-failure.ts";
import { concat, headerOf } from "./bytes.ts";
import { asEventStream, EVENT_STREAM, startsAsEvents } from "./event-sniff.ts";

/** E6: the gate holds no more than this, and no longer. */
const GATE_BYTES = 64 * 1024;
const GATE_MS = 30_000;
/** P1: a response that does not stream is held whole up to this, so that a bad one can still fail over. */
const WHOLE_BYTES = 8 * 1024 * 1024;
const ERROR_BYTES = 256 * 1024;
/** An error that comes drop by drop is taken as far as it got. */
const ERROR_MS = 10_000;

/** What one attempt is to do. Times in ms, 0 = off. */
export interface AttemptPlan {
  readonly exchange: ExchangeRequest;
  readonly family: string;
  /** How the provider's answer becomes the caller's. */
  readonly answer: Pick<ExchangePlan, "translated" | "streamType" | "openStream" | "readAnswer">;
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
  /** Something of ours threw, at whatever time; the exchange is aborted and nothing follows. */
  onFault(error: unknown): void;
}

/** One call to one deployment: holds what has not committed, tells how it ended, exactly once (invariant 3). */
export class Attempt implements ExchangeHandler {
  readonly #plan: AttemptPlan;
  readonly #answered: Answered;
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

  /** `secret`: the credential that the exchange carries, to keep it out of what the provider says of it (P9). */
  constructor(plan: AttemptPlan, secret: string | undefined, listener: AttemptListener, now: () => number) {
    this.#plan = plan;
    this.#answered = { family: plan.family, secret, now };
    this.#listener = listener;
    this.#now = now;
    this.#startedAt = now();
  }

  start(upstream: Upstream): void {
    const { firstTokenTimeoutMs } = this.#plan;
    if (firstTokenTimeoutMs > 0 && this.#plan.streams) {
      this.#firstTokenTimer = this.#after(firstTokenTimeoutMs, () => this.#timeOut("no token in time"));
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
    try {
      this.#onHead(head);
    } catch (error) {
      this.#fault(error);
    }
  }

  onData(chunk: Uint8Array): void {
    try {
      this.#onData(chunk);
    } catch (error) {
      this.#fault(error);
    }
  }

  onEnd(): void {
    try {
      this.#onEnd();
    } catch (error) {
      this.#fault(error);
    }
  }

  onError(error: ExchangeError): void {
    try {
      this.#onError(error);
    } catch (fault) {
      this.#fault(fault);
    }
  }

  #onHead(head: ExchangeHead): void {
    if (this.#mode !== "waiting") return;
    this.#head = head;
    if (head.status < 200 || head.status > 299) {
      this.#mode = "error";
      this.#clearTimers();
      this.#boundTimer = this.#after(ERROR_MS, () => this.#cutError());
      return;
    }
    if (!this.#isStream(head)) {
      this.#mode = "whole";
      this.#boundWhole();
    } else if (this.#plan.streams) {
      this.#follow();
    } else {
      this.#exchange?.abort();
      this.#failed(unusable(this.#head, "the provider streamed an answer that was not to stream"));
    }
  }

  #onData(chunk: Uint8Array): void {
    switch (this.#mode) {
      case "stream":
        this.#onStreamData(chunk);
        return;
      case "whole":
        if (this.#heldBytes === 0 && this.#isUnsaidStream(chunk)) {
          this.#head = asEventStream(this.#head as ExchangeHead);
          this.#follow();
          this.#onStreamData(chunk);
          return;
        }
        this.#hold(chunk);
        if (this.#heldBytes > WHOLE_BYTES) this.#passOn();
        return;
      case "passing":
        this.#forward(chunk);
        return;
      case "error":
        this.#hold(chunk);
        if (this.#heldBytes > ERROR_BYTES) this.#cutError();
        return;
      case "waiting":
      case "over":
        return;
    }
  }

  #onEnd(): void {
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
        this.#failed(exchangeFailure(new ExchangeError("before_headers"), undefined, false));
        return;
      case "over":
        return;
    }
  }

  #onError(error: ExchangeError): void {
    if (this.#mode === "over") return;
    if (this.#mode === "error") {
      this.#failWithAnswer();
      return;
    }
    // Whoever has the closing event has the whole answer, however the connection ended.
    if (this.#reader?.done === true && this.#serving) {
      this.#onStreamEnd();
      return;
    }
    const failure = exchangeFailure(error, this.#head?.status, this.#mode === "stream");
    if (this.#serving) this.#broken(failure, undefined);
    else this.#failed(failure);
  }

  /** Nobody above a callback of upstream or of a timer could end the attempt when it throws (invariant 3). */
  #fault(error: unknown): void {
    this.abort();
    this.#listener.onFault(error);
  }

  #after(ms: number, run: () => void): NodeJS.Timeout {
    return setTimeout(() => {
      try {
        run();
      } catch (error) {
        this.#fault(error);
      }
    }, ms);
  }

  #follow(): void {
    clearTimeout(this.#boundTimer);
    this.#mode = "stream";
    this.#reader = this.#plan.answer.openStream();
    this.#boundTimer = this.#after(GATE_MS, () => this.#commit());
  }

  /** Some servers stream without saying so; held whole, it would be neither a stream nor an answer. */
  #isUnsaidStream(first: Uint8Array): boolean {
    const { streams, answer } = this.#plan;
    return streams && answer.streamType === EVENT_STREAM && startsAsEvents(first);
  }

  #isStream(head: ExchangeHead): boolean {
    const type = headerOf(head.headers, "content-type") ?? "";
    return type.split(";", 1)[0]?.trim().toLowerCase() === this.#plan.answer.streamType;
  }

  /** An answer too large to be held goes on unread, but for one that has to be told in other words. */
  #passOn(): void {
    if (this.#plan.answer.translated) {
      this.#exchange?.abort();
      this.#failed(unusable(this.#head, "the provider's answer is too large to be translated"));
      return;
    }
    this.#mode = "passing";
    this.#commit();
  }

  #onStreamData(chunk: Uint8Array): void {
    const reader = this.#reader as StreamReader;
    const out: Uint8Array[] = [];
    reader.push(chunk, out);
    const broken = reader.failure !== undefined || reader.overflowed;
    // What nobody needs any more must not fill the gate.
    if (!broken || this.#serving || reader.committed) this.#pass(out, reader.committed);
    if (!broken) return;
    this.#exchange?.abort();
    this.#onStreamFault(reader);
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
    if (this.#serving || verdict === "complete") this.#pass(out, true);
    if (verdict === "complete") this.#served(reader);
    else this.#onStreamFault(reader);
  }

  #onStreamFault(reader: StreamReader): void {
    const failure = streamFailure(reader, this.#head as ExchangeHead, this.#answered);
    const said = typeof failure.answer === "object" ? failure.answer.body : undefined;
    if (this.#serving) this.#broken(failure, said);
    else this.#failed(failure);
  }

  #onWhole(): void {
    const head = this.#head as ExchangeHead;
    const body = concat(this.#held, this.#heldBytes);
    const answer = this.#plan.answer.readAnswer(body);
    if (answer.kind === "error") {
      this.#failed(providerFailure(this.#answered, head, body, true));
    } else if (answer.kind === "invalid") {
      this.#failed(unusable(this.#head, `the provider's answer can't be used: ${answer.reason}`));
    } else {
      this.#serving = true;
      this.#listener.onServe(head, answer);
      this.#listener.onBytes(answer.body);
      this.#served(answer);
    }
  }

  #cutError(): void {
    this.#exchange?.abort();
    this.#failWithAnswer();
  }

  #failWithAnswer(): void {
    const body = concat(this.#held, this.#heldBytes);
    this.#failed(providerFailure(this.#answered, this.#head as ExchangeHead, body, false));
  }

  #hold(bytes: Uint8Array): void {
    this.#held.push(bytes);
    this.#heldBytes += bytes.length;
  }

  #commit(): void {
    if (this.#serving || this.#mode === "over") return;
    this.#serving = true;
    clearTimeout(this.#firstTokenTimer);
    // E5: of an answer that does not stream the clock runs on.
    if (this.#mode === "stream") clearTimeout(this.#boundTimer);
    this.#listener.onServe(this.#head as ExchangeHead, undefined);
    const held = this.#held;
    this.#held = [];
    this.#heldBytes = 0;
    if (held.length > 0) this.#forward(held.length === 1 ? (held[0] as Uint8Array) : concat(held));
  }

  #forward(bytes: Uint8Array): void {
    if (bytes.length === 0) return;
    if (!this.#listener.onBytes(bytes)) this.#exchange?.pause();
  }

  /** E5: the attempt's clock covers the body of a response that does not stream, where the policy says so. */
  #boundWhole(): void {
    const bound = this.#plan.wholeTimeoutMs;
    if (bound === 0) return;
    const left = Math.max(1, bound - (this.#now() - this.#startedAt));
    this.#boundTimer = this.#after(left, () => this.#timeOut("no complete response in time"));
  }

  #timeOut(message: string): void {
    if (this.#mode === "over") return;
    this.#exchange?.abort();
    const failure = timedOut(message);
    if (this.#serving) this.#broken(failure, undefined);
    else this.#failed(failure);
  }

  #served(facts: ServedFacts): void {
    if (this.#mode === "over") return;
    this.#over();
    this.#listener.onServed(facts);
  }

  #broken(failure: AttemptFailure, event: Uint8Array | undefined): void {
    if (this.#mode === "over") return;
    this.#over();
    this.#listener.onBroken(failure, event);
  }

  #failed(failure: AttemptFailure): void {
    if (this.#mode === "over") return;
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
