import type { StreamReader } from "@switchyard/providers";
import type { ExchangeError } from "@switchyard/upstream";
import { exchangeFailure, streamFailure } from "./attempt-failure.ts";
import type { ReadAnswerPlan } from "./attempt-plan.ts";
import type { Body, BodyHost } from "./body.ts";
import { Held } from "./body.ts";

/** E6: the gate holds no more than this, and no longer. */
const GATE_BYTES = 64 * 1024;
const GATE_MS = 30_000;
/** A stream that is told in other words is silent for twice this at most: clients give up on silence (Claude Code after 300 s). */
const PULSE_MS = 15_000;

const NOTHING = new Uint8Array(0);

/** The body of a stream: held until its first useful token, then passed on as it comes (E6). */
export class StreamBody implements Body {
  readonly #host: BodyHost;
  readonly #reader: StreamReader;
  readonly #held = new Held();
  /** Nothing has gone on since the last pulse. */
  #quiet = false;

  constructor(host: BodyHost, answer: ReadAnswerPlan) {
    this.#host = host;
    this.#reader = answer.openStream();
    host.clocks.startBound(GATE_MS, () => this.#commit());
  }

  get sequence(): number | undefined {
    return this.#reader.sequence;
  }

  data(chunk: Uint8Array): void {
    const reader = this.#reader;
    const out: Uint8Array[] = [];
    reader.push(chunk, out);
    const broken = reader.failure !== undefined || reader.overflowed;
    // What nobody needs any more must not fill the gate.
    if (!broken || this.#host.serving || reader.committed) this.#pass(out, reader.committed);
    if (!broken) return;
    this.#host.stop();
    this.#fault();
  }

  end(): void {
    const out: Uint8Array[] = [];
    const complete = this.#reader.finish(out) === "complete";
    if (this.#host.serving || complete) this.#pass(out, true);
    if (complete) this.#host.done(this.#reader);
    else this.#fault();
  }

  cut(error: ExchangeError): void {
    // Whoever has the closing event has the whole answer, however the connection ended.
    if (this.#reader.done && this.#host.serving) this.end();
    else this.#host.fail(exchangeFailure(error, this.#host.head.status, true));
  }

  #pass(out: readonly Uint8Array[], committed: boolean): void {
    if (this.#host.serving) {
      if (out.length > 0) this.#quiet = false;
      for (const bytes of out) this.#host.forward(bytes);
      return;
    }
    for (const bytes of out) this.#held.add(bytes);
    if (committed || this.#held.size > GATE_BYTES) this.#commit();
  }

  #commit(): void {
    this.#host.clocks.stop();
    if (this.#reader.pulse !== undefined) this.#host.clocks.startPulse(PULSE_MS, () => this.#pulse());
    this.#host.serve(this.#held, undefined, this.#reader.keeps);
  }

  /** Says that the stream lives, to its caller alone: no byte of the provider's, so its idle time-out runs on (E5). */
  #pulse(): void {
    if (this.#quiet && !this.#host.waits) this.#host.forward(this.#reader.pulse?.() ?? NOTHING);
    this.#quiet = true;
  }

  #fault(): void {
    const failure = streamFailure(this.#reader, this.#host.head, this.#host.answered);
    const said = typeof failure.answer === "object" ? failure.answer.body : undefined;
    this.#host.fail(failure, said);
  }
}
