const MIN_MS = 100;
const MAX_MS = 1000;
/** A connection that ends sooner than this did not end the outage. */
const STABLE_MS = 5000;

/**
 * How long to wait between tries: a quarter of the outage's age, between 100 ms and 1 s, with a jitter of a fifth that
 * stays the same for one outage. A function of time, not of tries: the client asks more than once for each try.
 */
export class ReconnectPause {
  #outageSince: number;
  #connectedSince: number | undefined;
  #factor = jitter();

  constructor(now: number) {
    this.#outageSince = now;
  }

  up(now: number): void {
    this.#connectedSince = now;
  }

  down(now: number): void {
    const stable = this.#connectedSince !== undefined && now - this.#connectedSince >= STABLE_MS;
    this.#connectedSince = undefined;
    if (!stable) return;
    this.#outageSince = now;
    this.#factor = jitter();
  }

  /** Milliseconds. */
  at(now: number): number {
    return Math.min(MAX_MS, MIN_MS + (now - this.#outageSince) / 4) * this.#factor;
  }
}

function jitter(): number {
  return 0.8 + Math.random() * 0.4;
}
