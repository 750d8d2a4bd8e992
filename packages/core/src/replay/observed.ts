import type { FailedAttempt } from "../domain/attempt.ts";
import { verdictOf, type ErrorClass } from "../domain/error-class.ts";
import { hashKey, mixHashes } from "../domain/hash-key.ts";
import { RecentMap } from "../load/bounded.ts";
import type { DecisionLine, LogLine, OutcomeLine } from "./line.ts";

/** How an attempt ended that did not go well. */
export type Failure = Pick<FailedAttempt, "error" | "status" | "retryAfterMs"> & {
  /** From the decision's delay to the end, ms. */
  readonly ms: number;
};

/** Calls whose end may still come; what ends later counts as having gone well. */
const MAX_OPEN = 10_000;
/** Provider's models that rates are kept of; those beyond never fail. */
const MAX_MODELS = 10_000;

interface Rate {
  calls: number;
  /** By class; as many and the last one seen. */
  readonly failures: Map<ErrorClass, { count: number; last: Failure }>;
}

/** How often each provider's model failed in a log, by what of failures counts for health. */
export class Observed {
  readonly #rates = new Map<string, Rate>();
  readonly #open = new RecentMap<DecisionLine>(MAX_OPEN);

  /** Takes in the next line of the log. */
  add(line: LogLine): void {
    if (line.kind === "outcome") {
      const decided = this.#open.get(line.decision);
      if (decided !== undefined) this.#end(decided, failureOf(line));
    } else if (line.kind === "decision") {
      const last = line.history.attempts.at(-1);
      const before = last === undefined ? undefined : this.#open.get(last.decision);
      if (last !== undefined && before !== undefined) this.#end(before, asFailure(last));
      this.#begin(line);
    }
  }

  /** Whether any call to a provider's model is known. */
  knows(load: string): boolean {
    return (this.#rates.get(load)?.calls ?? 0) > 0;
  }

  /**
   * How a call ends that the log says nothing of: as often badly as the log's calls to that model, by a draw that is
   * the same for one request and call whatever else is replayed. Undefined = well.
   *
   * @param nth the how-manieth call of the request to this model, from 0
   */
  draw(load: string, seed: number, nth: number): Failure | undefined {
    const rate = this.#rates.get(load);
    if (rate === undefined || rate.calls === 0) return undefined;
    let at = (mixHashes(seed, hashKey(`${load} ${nth}`)) / 0x1_0000_0000) * rate.calls;
    for (const { count, last } of rate.failures.values()) {
      if (at < count) return last;
      at -= count;
    }
    return undefined;
  }

  #begin(line: DecisionLine): void {
    // What comes of a caller's own key says nothing about our account (E9).
    if (line.taken.kind !== "attempt" || line.facts.ownKeyProvider !== undefined) return;
    const { load } = line.taken;
    let rate = this.#rates.get(load);
    if (rate === undefined) {
      if (this.#rates.size >= MAX_MODELS) return;
      this.#rates.set(load, (rate = { calls: 0, failures: new Map() }));
    }
    rate.calls += 1;
    this.#open.set(line.id, line);
  }

  #end(line: DecisionLine, failure: Failure | undefined): void {
    this.#open.delete(line.id);
    if (failure === undefined || line.taken.kind !== "attempt") return;
    const rate = this.#rates.get(line.taken.load);
    if (rate === undefined) return;
    if (verdictOf(failure.error) === "ignored") {
      rate.calls -= 1;
      return;
    }
    const known = rate.failures.get(failure.error);
    rate.failures.set(failure.error, { count: (known?.count ?? 0) + 1, last: failure });
  }
}

/** The failure that an outcome tells of; undefined where it went well. */
export function failureOf({ error, status, retryAfterMs, ms }: OutcomeLine): Failure | undefined {
  return error === undefined ? undefined : { error, status, retryAfterMs, ms: ms ?? 0 };
}

/** The failure that a history keeps. */
export function asFailure({ error, status, retryAfterMs, startedAt, endedAt }: FailedAttempt): Failure {
  return { error, status, retryAfterMs, ms: Math.max(0, endedAt - startedAt) };
}
