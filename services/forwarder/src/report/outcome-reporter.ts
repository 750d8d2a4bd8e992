import { create, toBinary } from "@bufbuild/protobuf";
import type { EventBus } from "@switchyard/bus";
import { outcomeToWire, SUBJECTS } from "@switchyard/cluster";
import { affectsHealth } from "@switchyard/core";
import type { Outcome } from "@switchyard/core";
import { OutcomeBatchSchema, SuccessSumSchema, UsageBatchSchema } from "@switchyard/proto/events/v1/events";
import type { Outcome as WireOutcome, SuccessSum, UsageEvent } from "@switchyard/proto/events/v1/events";

/** Successes and usage are summed this long before they are published (contracts.md section 5). */
const BATCH_MS = 100;
/** How long a failure rides along with decisions, for routers that lost the bus (B6). */
const RECENT_MS = 10_000;
const RECENT_MOST = 16;
const USAGE_MOST = 1_000;

/**
 * Tells the bus how attempts ended: failures at once, successes summed. Nothing waits on it (invariant 2).
 */
export class OutcomeReporter {
  readonly #bus: EventBus;
  readonly #name: string;
  readonly #now: () => number;
  readonly #successes = new Map<string, SuccessSum>();
  #usage: UsageEvent[] = [];
  #recent: WireOutcome[] = [];
  #timer: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(options: { readonly bus: EventBus; readonly name: string; readonly now: () => number }) {
    this.#bus = options.bus;
    this.#name = options.name;
    this.#now = options.now;
  }

  /** Reports the end of one attempt, exactly once each (invariant 3). */
  report(outcome: Outcome): void {
    // A probe's success ends a bench, so it can't wait for the others.
    if (outcome.error === undefined && !outcome.probe) {
      this.#count(outcome);
      return;
    }
    const wire = outcomeToWire(outcome);
    // Those that change nothing would only push out those that do.
    if (affectsHealth(outcome)) {
      this.#recent.push(wire);
      if (this.#recent.length > RECENT_MOST) this.#recent.shift();
    }
    this.#publish([wire], []);
  }

  usage(event: UsageEvent): void {
    this.#usage.push(event);
    if (this.#usage.length < USAGE_MOST) this.#arm();
    else this.#flush();
  }

  /** Outcomes for the next decision to carry; usually none. */
  recent(): WireOutcome[] {
    const first = this.#recent[0];
    if (first === undefined) return [];
    const oldest = this.#now() - RECENT_MS;
    if (Number(first.endedAtMs) < oldest) {
      this.#recent = this.#recent.filter((outcome) => Number(outcome.endedAtMs) >= oldest);
    }
    return this.#recent.slice();
  }

  /** Publishes what is summed; what still comes goes out at once. */
  close(): void {
    this.#closed = true;
    this.#flush();
  }

  #count(outcome: Outcome): void {
    const key = `${outcome.group}\n${outcome.deployment}`;
    const sum = this.#successes.get(key);
    if (sum !== undefined) {
      sum.count += 1n;
    } else {
      const { group, deployment } = outcome;
      this.#successes.set(key, create(SuccessSumSchema, { group, deployment, count: 1n }));
    }
    this.#arm();
  }

  #arm(): void {
    if (this.#closed) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), BATCH_MS);
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#successes.size > 0) {
      const successes = [...this.#successes.values()];
      this.#successes.clear();
      this.#publish([], successes);
    }
    if (this.#usage.length > 0) {
      const events = this.#usage;
      this.#usage = [];
      const batch = create(UsageBatchSchema, { events });
      this.#bus.publish(SUBJECTS.usageOf(this.#name), toBinary(UsageBatchSchema, batch));
    }
  }

  #publish(outcomes: WireOutcome[], successes: SuccessSum[]): void {
    const batch = create(OutcomeBatchSchema, { forwarder: this.#name, outcomes, successes });
    this.#bus.publish(SUBJECTS.outcomesOf(this.#name), toBinary(OutcomeBatchSchema, batch));
  }
}
