import type { AnswerWatch } from "@switchyard/providers";
import type { ExchangeError } from "@switchyard/upstream";
import { exchangeFailure } from "./attempt-failure.ts";
import type { Body, BodyHost } from "./body.ts";
import { Held } from "./body.ts";

/**
 * The body of a success on a native endpoint. It has one attempt, so there is nothing to wait for before it goes to the caller, and it is of
 * no API that is known, so that nothing in it says whether it is an answer.
 */
export class PassedBody implements Body {
  readonly #host: BodyHost;
  readonly #watch: AnswerWatch;

  constructor(host: BodyHost, watch: AnswerWatch) {
    this.#host = host;
    this.#watch = watch;
    host.serve(new Held(), undefined, undefined);
  }

  data(chunk: Uint8Array): void {
    this.#host.forward(chunk);
    this.#watch.push(chunk);
  }

  end(): void {
    this.#watch.finish();
    this.#host.done(this.#watch);
  }

  cut(error: ExchangeError): void {
    this.#host.fail(exchangeFailure(error, this.#host.head.status, true));
  }
}
