import type { ExchangeError } from "@switchyard/upstream";
import { exchangeFailure, providerFailure, unusable } from "./attempt-failure.ts";
import type { ReadAnswerPlan } from "./attempt-plan.ts";
import type { Body, BodyHost } from "./body.ts";
import { Held } from "./body.ts";
import { asEventStream, EVENT_STREAM, startsAsEvents } from "./event-sniff.ts";
import { StreamBody } from "./stream-body.ts";

/** P1: held whole up to this, so that a bad one can still fail over. */
const MOST_BYTES = 8 * 1024 * 1024;

/** The body of a success that does not stream; told as a stream where one was asked for. */
export class WholeBody implements Body {
  readonly #host: BodyHost;
  readonly #answer: ReadAnswerPlan;
  readonly #held = new Held();
  #passing = false;

  constructor(host: BodyHost, answer: ReadAnswerPlan) {
    this.#host = host;
    this.#answer = answer;
  }

  data(chunk: Uint8Array): void {
    if (this.#passing) {
      this.#host.forward(chunk);
      return;
    }
    if (this.#held.size === 0 && this.#isUnsaidStream(chunk)) {
      const stream = new StreamBody(this.#host, this.#answer);
      this.#host.become(stream, asEventStream(this.#host.head));
      stream.data(chunk);
      return;
    }
    this.#held.add(chunk);
    if (this.#held.size > MOST_BYTES) this.#passOn();
  }

  end(): void {
    const host = this.#host;
    if (this.#passing) {
      host.done({ usage: undefined, model: undefined });
      return;
    }
    const body = this.#held.take();
    const answer = this.#answer.readAnswer(body);
    if (answer.kind === "error") {
      host.fail(providerFailure(host.answered, host.head, answer.said ?? body, true));
    } else if (answer.kind === "invalid") {
      host.fail(unusable(host.head, `the provider's answer can't be used: ${answer.reason}`));
    } else {
      this.#held.add(answer.body);
      if (answer.streamed === true) host.become(this, asEventStream(host.head));
      host.serve(this.#held, answer, answer.keeps);
      host.done(answer);
    }
  }

  cut(error: ExchangeError): void {
    this.#host.fail(exchangeFailure(error, this.#host.head.status, false));
  }

  /** An answer too large to be held goes on unread, but for one that has to be told in other words. */
  #passOn(): void {
    const host = this.#host;
    if (this.#answer.translated) {
      host.stop();
      host.fail(unusable(host.head, "the provider's answer is too large to be translated"));
      return;
    }
    this.#passing = true;
    host.clocks.stopFirstToken();
    host.serve(this.#held, undefined, undefined);
  }

  /** Some servers stream without saying so; held whole, it would be neither a stream nor an answer. */
  #isUnsaidStream(first: Uint8Array): boolean {
    return this.#host.plan.streams && this.#answer.streamType === EVENT_STREAM && startsAsEvents(first);
  }
}
