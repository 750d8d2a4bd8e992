import { fromBinary } from "@bufbuild/protobuf";
import type { EventBus, Subscription } from "@switchyard/bus";
import { outcomeFromWire, SUBJECTS } from "@switchyard/cluster";
import { RecentMap, recordDecision, recordOutcome } from "@switchyard/core";
import type { Decided, DecideInput, TokenCounts } from "@switchyard/core";
import { OutcomeBatchSchema, UsageBatchSchema } from "@switchyard/proto/events/v1/events";
import type { TokenUsage } from "@switchyard/proto/events/v1/events";

/** Where lines of a decision log go. Takes them at once and without fail; what it cannot keep it counts. */
export interface DecisionLog {
  write(line: string): void;
}

/** Requests whose ends are waited for; those of older ones are not recorded. */
const MAX_OPEN = 10_000;

/**
 * Writes each decision with its inputs, so that it can be made again (invariant 1), and how its attempt ended, as far as
 * the bus tells: failures singly, and what answers used. An attempt of which nothing comes went well.
 */
export class DecisionRecorder {
  readonly #log: DecisionLog;
  readonly #subscriptions: readonly Subscription[];
  /** The last decision of each request that was decided here. */
  readonly #byRequest = new RecentMap<string>(MAX_OPEN);
  /** When each of those decisions was made. */
  readonly #decidedAt = new RecentMap<number>(MAX_OPEN);

  constructor(bus: EventBus, log: DecisionLog) {
    this.#log = log;
    this.#subscriptions = [
      bus.subscribe(SUBJECTS.outcomes, (payload) => this.#onOutcomes(payload)),
      bus.subscribe(SUBJECTS.usage, (payload) => this.#onUsage(payload)),
    ];
  }

  /** To be called in the decision's own turn, before its effects are applied: loads are views. */
  decided(input: DecideInput, decided: Decided): void {
    this.#log.write(recordDecision(input, decided));
    if (decided.decision.kind !== "attempt") return;
    this.#byRequest.set(input.request.facts.id, input.decisionId);
    this.#decidedAt.set(input.decisionId, input.now);
  }

  close(): void {
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  #onOutcomes(payload: Uint8Array): void {
    for (const wire of fromBinary(OutcomeBatchSchema, payload).outcomes) {
      const decidedAt = this.#decidedAt.get(wire.decisionId);
      if (decidedAt === undefined) continue;
      this.#decidedAt.delete(wire.decisionId);
      const { decision, error, status, retryAfterMs, at } = outcomeFromWire(wire);
      const ms = Math.max(0, at - decidedAt);
      this.#log.write(recordOutcome({ decision, error, status, retryAfterMs, ms }));
    }
  }

  #onUsage(payload: Uint8Array): void {
    for (const { requestId, usage, costUsd } of fromBinary(UsageBatchSchema, payload).events) {
      const decision = this.#byRequest.get(requestId);
      if (decision === undefined || usage === undefined) continue;
      this.#byRequest.delete(requestId);
      this.#log.write(recordOutcome({ decision, usage: countsFromWire(usage), costUsd }));
    }
  }
}

/** Of the parts, those that there are: most answers have none. */
function countsFromWire(usage: TokenUsage): TokenCounts {
  const { input, output, cached, cacheWritten, audioInput, reasoning, audioOutput } = usage;
  const parts = Object.entries({ cached, cacheWritten, audioInput, reasoning, audioOutput });
  const told = parts.filter(([, tokens]) => tokens > 0n).map(([name, tokens]) => [name, Number(tokens)]);
  return { input: Number(input), output: Number(output), ...Object.fromEntries(told) };
}
