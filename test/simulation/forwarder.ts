import { minuteOf, type AttemptDecision, type LoadReport, type ReportedLoad } from "@switchyard/core";
import type { Answer } from "./provider.ts";

/** A forwarder's counters, as its service keeps and reports them. */
export class Forwarder {
  readonly name: string;
  readonly #sums = new Map<string, ReportedLoad>();
  #sequence = 0;
  #changed = false;

  constructor(name: string) {
    this.name = name;
  }

  /** A decision was received: the call counts from here on. */
  begin(attempt: AttemptDecision, now: number): void {
    const sum = this.#sum(attempt.deployment.scopes.model, now);
    this.#set({ ...sum, inFlight: sum.inFlight + 1, requests: sum.requests + 1 });
  }

  /** The call ended, whatever ended it (invariant 3). */
  end(attempt: AttemptDecision, answer: Answer, tokens: number, now: number): void {
    const sum = this.#sum(attempt.deployment.scopes.model, now);
    const ended = { ...sum, inFlight: sum.inFlight - 1 };
    this.#set(
      answer.error === undefined
        ? {
            ...ended,
            tokens: sum.tokens + tokens,
            measured: sum.measured + 1,
            firstTokenMs: sum.firstTokenMs + answer.ms,
          }
        : ended,
    );
  }

  /** What it reports now; undefined when there is nothing to say. */
  report(): LoadReport | undefined {
    const deployments = [...this.#sums.values()];
    if (!this.#changed && deployments.every(({ inFlight }) => inFlight === 0)) return undefined;
    this.#changed = false;
    this.#sequence += 1;
    for (const sum of deployments) this.#sums.set(sum.load, { ...sum, measured: 0, firstTokenMs: 0 });
    return { reporter: this.name, sequence: this.#sequence, deployments };
  }

  get inFlight(): number {
    return [...this.#sums.values()].reduce((total, { inFlight }) => total + inFlight, 0);
  }

  #sum(load: string, now: number): ReportedLoad {
    const minute = minuteOf(now);
    const none = { inFlight: 0, measured: 0, firstTokenMs: 0, streamedTokens: 0, streamedMs: 0 };
    const sum = this.#sums.get(load) ?? { load, minute, requests: 0, tokens: 0, ...none };
    return sum.minute === minute ? sum : { ...sum, minute, requests: 0, tokens: 0 };
  }

  #set(sum: ReportedLoad): void {
    this.#sums.set(sum.load, sum);
    this.#changed = true;
  }
}
