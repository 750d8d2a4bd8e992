import type { TokenUsage } from "@switchyard/providers";
import type { ExchangeError, ExchangeHead } from "@switchyard/upstream";
import type { AttemptClocks } from "./attempt-clocks.ts";
import type { Answered, AttemptFailure } from "./attempt-failure.ts";
import type { AttemptPlan } from "./attempt-plan.ts";
import { concat } from "../bytes.ts";

/** How a response's body is taken in, by what its head says it is. Each ends the attempt once, through its host. */
export interface Body {
  /** Number of the event that comes next, where they have one. */
  readonly sequence?: number | undefined;
  data(chunk: Uint8Array): void;
  end(): void;
  /** The exchange broke before its end. */
  cut(error: ExchangeError): void;
}

/** What is known of an answer that served. */
export interface ServedFacts {
  readonly usage: TokenUsage | undefined;
  readonly model: string | undefined;
  /** Ids under which the provider keeps the answer, once it is whole (P8). */
  readonly keeps?: readonly string[];
}

/** The attempt, as its body sees it. */
export interface BodyHost {
  readonly plan: AttemptPlan;
  readonly answered: Answered;
  readonly clocks: AttemptClocks;
  readonly head: ExchangeHead;
  /** Something has gone to the caller: nothing is sent twice (invariant 5). */
  readonly serving: boolean;
  /** The caller is slow to read, and what is sent now would only wait. */
  readonly waits: boolean;
  /** Begins to serve, with what was held; `keeps`: ids under which the provider keeps the answer (P8). */
  serve(held: Held, facts: ServedFacts | undefined, keeps: readonly string[] | undefined): void;
  forward(bytes: Uint8Array): void;
  /** What is left of the exchange is not wanted. */
  stop(): void;
  done(facts: ServedFacts): void;
  /** Fails over, or breaks what is being served; `event` is the provider's own error event, where it sent one. */
  fail(failure: AttemptFailure, event?: Uint8Array): void;
  /** The body turned out to be a stream, or goes on as one, with another head. */
  become(body: Body, head: ExchangeHead): void;
}

/** Bytes that have not gone on yet. */
export class Held {
  #pieces: Uint8Array[] = [];
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(bytes: Uint8Array): void {
    this.#pieces.push(bytes);
    this.#size += bytes.length;
  }

  /** All of it in one piece; nothing is held any more. */
  take(): Uint8Array {
    const bytes = concat(this.#pieces, this.#size);
    this.#pieces = [];
    this.#size = 0;
    return bytes;
  }
}
