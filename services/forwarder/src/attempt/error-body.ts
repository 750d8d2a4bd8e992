import { providerFailure } from "./attempt-failure.ts";
import type { Body, BodyHost } from "./body.ts";
import { Held } from "./body.ts";

const MOST_BYTES = 256 * 1024;
/** An error that comes drop by drop is taken as far as it got. */
const LONGEST_MS = 10_000;

/** The body of an answer that is no success: as much of it as tells what it is (E7). */
export class ErrorBody implements Body {
  readonly #host: BodyHost;
  readonly #held = new Held();

  constructor(host: BodyHost) {
    this.#host = host;
    // A provider that says what is wrong has answered: the first token is not waited for any more.
    host.clocks.stopFirstToken();
    host.clocks.startBound(LONGEST_MS, () => this.#cutShort());
  }

  data(chunk: Uint8Array): void {
    this.#held.add(chunk);
    if (this.#held.size > MOST_BYTES) this.#cutShort();
  }

  end(): void {
    const { answered, head } = this.#host;
    this.#host.fail(providerFailure(answered, head, this.#held.take(), false));
  }

  cut(): void {
    this.end();
  }

  #cutShort(): void {
    this.#host.stop();
    this.end();
  }
}
