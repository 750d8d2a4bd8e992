export interface BackoffOptions {
  /** How long a server that could not be reached is left alone at first, ms. */
  firstMs: number;
  /** The most it grows to, doubling, ms. */
  maxMs: number;
}

interface Server {
  failures: number;
  ejectedUntil: number;
  probing: boolean;
}

/**
 * Which of several equal servers a call goes to: round-robin among those that can be reached. One that could not is
 * left alone for a growing time, then probed by one real call. When none is left the soonest due is tried anyway:
 * a refusal is quick, and a server just restarted is found at once. Pure: the clock is its caller's, ms.
 */
export class Balancer {
  readonly #servers: Server[];
  readonly #backoff: BackoffOptions;
  #next = 0;

  constructor(count: number, backoff: BackoffOptions) {
    this.#backoff = backoff;
    this.#servers = Array.from({ length: count }, () => ({ failures: 0, ejectedUntil: 0, probing: false }));
  }

  /** Index of a server that is not among `tried` (a bit each), or undefined when all were tried. */
  pick(now: number, tried: number): number | undefined {
    const servers = this.#servers;
    let soonest: number | undefined;
    for (let i = 0; i < servers.length; i += 1) {
      const at = (this.#next + i) % servers.length;
      if ((tried & (1 << at)) !== 0) continue;
      const server = servers[at] as Server;
      if (server.failures === 0) return this.#take(at);
      if (server.ejectedUntil <= now && !server.probing) {
        server.probing = true;
        return this.#take(at);
      }
      if (soonest === undefined || server.ejectedUntil < (servers[soonest] as Server).ejectedUntil)
        soonest = at;
    }
    return soonest;
  }

  /** It answered, or took a connection. */
  reached(index: number): void {
    const server = this.#servers[index] as Server;
    server.failures = 0;
    server.probing = false;
  }

  /** It could not be reached. Several calls that fail together count once. */
  unreachable(index: number, now: number): void {
    const server = this.#servers[index] as Server;
    const wasProbe = server.probing;
    server.probing = false;
    if (server.failures > 0 && !wasProbe && server.ejectedUntil > now) return;
    const wait = Math.min(this.#backoff.maxMs, this.#backoff.firstMs * 2 ** Math.min(server.failures, 20));
    server.failures += 1;
    server.ejectedUntil = now + wait;
  }

  /** It says that it leaves: those that could not be reached before may be back sooner. */
  leaving(index: number, now: number): void {
    const server = this.#servers[index] as Server;
    server.failures = Math.max(1, server.failures);
    server.probing = false;
    server.ejectedUntil = now + this.#backoff.maxMs;
  }

  /** It takes calls and answers none: left alone until `reached` or `released`. */
  frozen(index: number): void {
    const server = this.#servers[index] as Server;
    server.failures = Math.max(1, server.failures);
    server.probing = false;
    server.ejectedUntil = Number.POSITIVE_INFINITY;
  }

  /** Nothing is known of it any more: the next call probes it. */
  released(index: number, now: number): void {
    const server = this.#servers[index] as Server;
    server.probing = false;
    server.ejectedUntil = Math.min(server.ejectedUntil, now);
  }

  /** A call ended without telling whether the server can be reached: the next one may probe. */
  unknown(index: number): void {
    (this.#servers[index] as Server).probing = false;
  }

  #take(index: number): number {
    this.#next = (index + 1) % this.#servers.length;
    return index;
  }
}
