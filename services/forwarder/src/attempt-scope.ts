import type { Outcome } from "@switchyard/core";
import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import type { Metrics } from "@switchyard/telemetry";
import type { OutcomeReporter } from "./outcome-reporter.ts";

export interface ScopeDeps {
  readonly metrics: Metrics;
  readonly reporter: OutcomeReporter;
  readonly now: () => number;
}

/** How an attempt ended. */
export interface AttemptEnd {
  readonly error: Outcome["error"];
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

/** An attempt that nobody judges: the caller left, or the fault is ours (invariant 4). */
export const UNJUDGED: AttemptEnd = { error: "cancelled", status: undefined, retryAfterMs: undefined };

/**
 * The paired scope of one attempt (invariant 3): made, it counts in flight; whatever ends it first gives that back
 * and reports its one outcome.
 */
export class AttemptScope {
  readonly #deps: ScopeDeps;
  readonly #order: AttemptOrder;
  readonly #decidedAt: number;
  readonly #ownKey: boolean;
  readonly #trace: { attemptEnded(end: AttemptEnd): void } | undefined;
  readonly #startedAt: number;
  readonly #inFlight: { dec(): void };
  #ended = false;

  constructor(
    deps: ScopeDeps,
    order: AttemptOrder,
    decidedAt: number,
    ownKey: boolean,
    trace?: { attemptEnded(end: AttemptEnd): void },
  ) {
    this.#deps = deps;
    this.#order = order;
    this.#decidedAt = decidedAt;
    this.#ownKey = ownKey;
    this.#trace = trace;
    this.#startedAt = deps.now();
    const gauge = deps.metrics.inFlight(order.group, order.deployment);
    gauge.inc();
    this.#inFlight = gauge;
  }

  /** How long it has run, whole ms. */
  get ms(): number {
    return Math.max(0, Math.round(this.#deps.now() - this.#startedAt));
  }

  end(end: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    const { error, status, retryAfterMs } = end;
    this.#trace?.attemptEnded(end);
    const { metrics, reporter, now } = this.#deps;
    const { decisionId, groupKey, group, deployment, lastResort } = this.#order;
    this.#inFlight.dec();
    metrics.attempt(group, deployment, error ?? "ok").inc();
    reporter.report({
      decision: decisionId,
      group: groupKey,
      deployment,
      error,
      status,
      retryAfterMs,
      decidedAt: this.#decidedAt,
      at: now(),
      probe: lastResort,
      ownKey: this.#ownKey,
    });
  }
}
