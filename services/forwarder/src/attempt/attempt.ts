import { ExchangeError, signAws } from "@switchyard/upstream";
import type {
  AwsSigning,
  Exchange,
  ExchangeHandler,
  ExchangeHead,
  ExchangeRequest,
  Upstream,
} from "@switchyard/upstream";
import { AttemptClocks } from "./attempt-clocks.ts";
import { exchangeFailure, timedOut, unusable } from "./attempt-failure.ts";
import type { Answered, AttemptFailure } from "./attempt-failure.ts";
import type { AttemptPlan } from "./attempt-plan.ts";
import type { AttemptTiming } from "../report/attempt-scope.ts";
import type { Body, BodyHost, Held, ServedFacts } from "./body.ts";
import { headerOf } from "../bytes.ts";
import { ErrorBody } from "./error-body.ts";
import { PassedBody } from "./passed-body.ts";
import { StreamBody } from "./stream-body.ts";
import { WholeBody } from "./whole-body.ts";

/** Who made the attempt. `onServe` and `onFailed` exclude each other; after `onServe` comes one of the other two. */
export interface AttemptListener {
  /** An answer has begun that has no first token to be waited for. */
  onAnswers(): void;
  /** The answer commits: nothing is sent twice from here on (invariant 5). `keeps`: ids under which its provider keeps it (P8). */
  onServe(
    head: ExchangeHead,
    facts: ServedFacts | undefined,
    keeps: readonly string[] | undefined,
    streams: boolean,
  ): void;
  /** False asks to wait for {@link Attempt.resume}. */
  onBytes(bytes: Uint8Array): boolean;
  onServed(facts: ServedFacts): void;
  /** The answer broke after it had begun; `event` as {@link BodyHost.fail} has it, `sequence` as {@link Body.sequence}. */
  onBroken(failure: AttemptFailure, event: Uint8Array | undefined, sequence: number | undefined): void;
  onFailed(failure: AttemptFailure): void;
  /** Something of ours threw, at whatever time; the exchange is aborted and nothing follows. */
  onFault(error: unknown): void;
}

/**
 * One call to one deployment: takes in its answer by the kind it is, and tells how it ended, exactly once
 * (invariant 3).
 */
export class Attempt implements ExchangeHandler, BodyHost {
  readonly plan: AttemptPlan;
  readonly answered: Answered;
  readonly clocks = new AttemptClocks((error) => this.#fault(error));
  readonly #listener: AttemptListener;
  readonly #startedAt: number;
  #exchange: Exchange | undefined;
  #head: ExchangeHead | undefined;
  #body: Body | undefined;
  #serving = false;
  #waits = false;
  #streams = false;
  #firstAt = 0;
  #over = false;

  /** `secret`: the credential that the exchange carries, to keep it out of what the provider says of it (P9). */
  constructor(plan: AttemptPlan, secret: string | undefined, listener: AttemptListener, now: () => number) {
    this.plan = plan;
    this.answered = { family: plan.family, secret, now };
    this.#listener = listener;
    this.#startedAt = now();
  }

  start(upstream: Upstream): void {
    const { firstTokenTimeoutMs, streams, exchange, signing } = this.plan;
    if (firstTokenTimeoutMs > 0 && streams) {
      this.clocks.startFirstToken(firstTokenTimeoutMs, () => this.#timeOut("no token in time"));
    }
    if (signing === undefined) this.#exchange = upstream.send(exchange, this);
    else void this.#sendSigned(upstream, exchange, signing);
  }

  /** A signature is as young as can be; one that comes after the attempt's end is for nothing. */
  async #sendSigned(upstream: Upstream, exchange: ExchangeRequest, signing: AwsSigning): Promise<void> {
    try {
      const signature = await signAws(exchange, signing, this.answered.now());
      if (this.#over) return;
      const headers = [...exchange.headers, ...signature];
      this.#exchange = upstream.send({ ...exchange, headers }, this);
    } catch (error) {
      if (!this.#over) this.#fault(error);
    }
  }

  /** The caller left, or the process ends: no callback follows. */
  abort(): void {
    this.#finish();
    this.stop();
  }

  resume(): void {
    this.#waits = false;
    this.#exchange?.resume();
  }

  /** How fast it was, of an answer that has just ended well. */
  get timing(): AttemptTiming {
    const streamedMs = this.#streams ? Math.max(0, this.answered.now() - this.#firstAt) : 0;
    const firstTokenMs = Math.max(0, this.#firstAt - this.#startedAt);
    return { firstTokenMs, streams: this.#streams, streamedMs };
  }

  // --- upstream's handler, which must not throw

  onHead(head: ExchangeHead): void {
    if (this.#over || this.#head !== undefined) return;
    try {
      this.#head = head;
      this.#begin(head);
    } catch (error) {
      this.#fault(error);
    }
  }

  onData(chunk: Uint8Array): void {
    try {
      this.#body?.data(chunk);
    } catch (error) {
      this.#fault(error);
    }
  }

  onEnd(): void {
    this.#onLast(undefined);
  }

  onError(error: ExchangeError): void {
    this.#onLast(error);
  }

  #onLast(error: ExchangeError | undefined): void {
    try {
      if (this.#body === undefined) {
        this.fail(exchangeFailure(error ?? new ExchangeError("before_headers"), undefined, false));
      } else if (error === undefined) this.#body.end();
      else this.#body.cut(error);
    } catch (fault) {
      this.#fault(fault);
    }
  }

  #begin(head: ExchangeHead): void {
    const { answer } = this.plan;
    const type = typeOf(head);
    const streams = !("watch" in answer) && type === answer.streamType;
    if (!streams || head.status < 200 || head.status > 299) this.#listener.onAnswers();
    if (head.status < 200 || head.status > 299) {
      this.#body = new ErrorBody(this);
    } else if ("watch" in answer) {
      this.#firstAt = this.answered.now();
      this.#body = new PassedBody(this, answer.watch(type));
    } else if (!streams) {
      this.#firstAt = this.answered.now();
      this.#body = new WholeBody(this, answer);
      this.#boundWhole();
    } else if (this.plan.streams) {
      this.#streams = true;
      this.#body = new StreamBody(this, answer);
    } else {
      this.stop();
      this.fail(unusable(head, "the provider streamed an answer that was not to stream"));
    }
  }

  /** E5: the attempt's clock covers the body of a response that does not stream, where the policy says so. */
  #boundWhole(): void {
    const bound = this.plan.wholeTimeoutMs;
    if (bound === 0) return;
    const left = Math.max(1, bound - (this.answered.now() - this.#startedAt));
    this.clocks.startBound(left, () => this.#timeOut("no complete response in time"));
  }

  #timeOut(message: string): void {
    this.stop();
    this.fail(timedOut(message));
  }

  // --- the body's host

  get head(): ExchangeHead {
    return this.#head as ExchangeHead;
  }

  get serving(): boolean {
    return this.#serving;
  }

  get waits(): boolean {
    return this.#waits;
  }

  serve(held: Held, facts: ServedFacts | undefined, keeps: readonly string[] | undefined): void {
    if (this.#serving || this.#over) return;
    this.#serving = true;
    if (this.#streams) this.#firstAt = this.answered.now();
    this.#listener.onServe(this.head, facts, keeps, this.#streams);
    if (held.size > 0) this.forward(held.take());
  }

  forward(bytes: Uint8Array): void {
    if (bytes.length === 0 || this.#over) return;
    if (this.#listener.onBytes(bytes)) return;
    this.#waits = true;
    this.#exchange?.pause();
  }

  stop(): void {
    this.#exchange?.abort();
  }

  done(facts: ServedFacts): void {
    if (this.#over) return;
    this.#finish();
    this.#listener.onServed(facts);
  }

  fail(failure: AttemptFailure, event?: Uint8Array): void {
    const sequence = this.#body?.sequence;
    if (this.#over) return;
    this.#finish();
    if (this.#serving) this.#listener.onBroken(failure, event, sequence);
    else this.#listener.onFailed(failure);
  }

  become(body: Body, head: ExchangeHead): void {
    this.#head = head;
    this.#body = body;
    this.#streams = true;
  }

  #fault(error: unknown): void {
    this.abort();
    this.#listener.onFault(error);
  }

  #finish(): void {
    this.#over = true;
    this.#body = undefined;
    this.clocks.stop();
  }
}

/** The content type of an answer, without parameters. */
function typeOf(head: ExchangeHead): string | undefined {
  return headerOf(head.headers, "content-type")?.split(";", 1)[0]?.trim().toLowerCase();
}
