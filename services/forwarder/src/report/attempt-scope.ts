import { expectedTokens, modelScope, NOT_SERVED } from "@switchyard/core";
import type { CountedCall, EndedCall, Outcome } from "@switchyard/core";
import type { BodyFacts, TokenUsage } from "@switchyard/providers";
import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import type { Metrics } from "@switchyard/telemetry";
import type { LoadReporter } from "./load-reporter.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";

export interface ScopeDeps {
  readonly metrics: Metrics;
  readonly reporter: OutcomeReporter;
  readonly load: LoadReporter;
  readonly now: () => number;
}

/** What was decided, when, and for whom. */
export interface Decided {
  readonly order: AttemptOrder;
  /** When it was asked for, epoch ms. */
  readonly askedAt: number;
  readonly facts: BodyFacts;
  /** E9: made with the caller's own key. */
  readonly ownKey: boolean;
}

/** How an attempt ended. */
export interface AttemptEnd {
  readonly error: Outcome["error"];
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

/** What is told of the end of an attempt that was started. */
export interface AttemptTrace {
  attemptEnded(end: AttemptEnd): void;
}

/** How fast an attempt was that served, ms. */
export interface AttemptTiming {
  /** To response headers or, of a stream, to its first useful token. */
  readonly firstTokenMs: number;
  readonly streams: boolean;
  /** From there to the end; 0 for what does not stream. */
  readonly streamedMs: number;
}

/** An attempt that nobody judges: the caller left, or the fault is ours (invariant 4). */
export const UNJUDGED: AttemptEnd = { error: "cancelled", status: undefined, retryAfterMs: undefined };

/**
 * The paired scope of one attempt (invariant 3). Made as its decision comes, it counts as load; started, as in flight.
 * Whatever ends it first gives both back and, of one that was started, reports its one outcome.
 */
export class AttemptScope {
  readonly #deps: ScopeDeps;
  readonly #decided: Decided;
  readonly #call: CountedCall;
  #inFlight: { dec(): void } | undefined;
  #trace: AttemptTrace | undefined;
  #startedAt = 0;
  #ended = false;

  constructor(deps: ScopeDeps, decided: Decided) {
    this.#deps = deps;
    this.#decided = decided;
    const { order, facts, ownKey } = decided;
    const load = modelScope(order.provider, order.model);
    this.#call = deps.load.begin({ load, tokens: expectedTokens(facts), ownKey });
  }

  /** The attempt begins: after its delay, with an account to make it with. */
  start(trace: AttemptTrace | undefined): void {
    this.#trace = trace;
    const { metrics, now } = this.#deps;
    const { group, deployment } = this.#decided.order;
    const gauge = metrics.inFlight(group, deployment);
    gauge.inc();
    this.#inFlight = gauge;
    this.#startedAt = now();
  }

  /** How long it has run, whole ms; 0 where it has not been started. */
  get ms(): number {
    return this.#inFlight === undefined ? 0 : Math.max(0, Math.round(this.#deps.now() - this.#startedAt));
  }

  /** `served`: how it went, of one that went well. */
  end(end: AttemptEnd, served: EndedCall = NOT_SERVED): void {
    if (this.#ended) return;
    this.#ended = true;
    const { error, status, retryAfterMs } = end;
    this.#trace?.attemptEnded(end);
    const { metrics, reporter, now } = this.#deps;
    const at = now();
    this.#call.end(served, at);
    if (this.#inFlight === undefined) return;
    const { order, askedAt, ownKey } = this.#decided;
    const { decisionId, groupKey, group, deployment, lastResort, probe } = order;
    this.#inFlight.dec();
    metrics.attempt(group, deployment, error ?? "ok").inc();
    reporter.report({
      decision: decisionId,
      group: groupKey,
      deployment,
      error,
      status,
      retryAfterMs,
      decidedAt: askedAt,
      at,
      probe: lastResort || probe,
      ownKey,
    });
  }
}

/** What routers learn of an attempt that served; `hedges`: its time is wanted by itself. */
export function servedCall(
  { firstTokenMs, streams, streamedMs }: AttemptTiming,
  usage: TokenUsage | undefined,
  hedges: boolean,
): EndedCall {
  const streamedTokens = streamedMs > 0 ? Math.max(0, (usage?.output ?? 0) - 1) : 0;
  return {
    served: true,
    firstTokenMs,
    tokens: (usage?.input ?? 0) + (usage?.output ?? 0),
    streamedTokens,
    streamedMs: streamedTokens > 0 ? streamedMs : 0,
    begun: hedges ? { streams, ms: firstTokenMs } : undefined,
  };
}

/** What routers learn of an attempt that was overtaken after `ms`: its deployment is at least as slow as that. */
export function overtakenCall(ms: number, streams: boolean): EndedCall {
  return { ...NOT_SERVED, begun: { streams, ms } };
}
