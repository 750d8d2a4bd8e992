import { minuteOf, type ErrorClass } from "@switchyard/core";
import { START, type ProviderScript } from "./scenario.ts";

/** How a call ends. */
export interface Answer {
  readonly error: ErrorClass | undefined;
  readonly ms: number;
  readonly retryAfterMs: number | undefined;
}

const FAST_FAILURE_MS = 5;
/** What an attempt at a provider costs that does not answer. */
const TIMEOUT_MS = 1_500;

/** One provider account; counts what it was asked. */
export class Provider {
  readonly #script: ProviderScript;
  readonly #random: () => number;
  #minute = 0;
  #requests = 0;

  constructor(script: ProviderScript, random: () => number) {
    this.#script = script;
    this.#random = random;
  }

  /** What becomes of a call that begins at `now`. */
  answer(now: number): Answer {
    const { outage, rpm, failureRate, latencyMs } = this.#script;
    const minute = minuteOf(now);
    if (minute !== this.#minute) this.#requests = 0;
    this.#minute = minute;
    this.#requests += 1;
    const luck = this.#random();
    const spread = 0.5 + this.#random();
    const at = now - START;
    if (outage !== undefined && at >= outage.from && at < outage.to) {
      const ms = outage.error === "timeout" ? TIMEOUT_MS : FAST_FAILURE_MS;
      return { error: outage.error, ms, retryAfterMs: undefined };
    }
    if (rpm !== undefined && this.#requests > rpm) {
      const retryAfterMs = luck < 0.5 ? 60_000 - (now % 60_000) : undefined;
      return { error: "rate_limited", ms: FAST_FAILURE_MS, retryAfterMs };
    }
    const ms = Math.round(latencyMs * spread);
    return { error: luck < failureRate ? "server_error" : undefined, ms, retryAfterMs: undefined };
  }
}
