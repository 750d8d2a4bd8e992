import { create } from "@bufbuild/protobuf";
import type { Outcome } from "@switchyard/core";
import { errorClassToWire } from "@switchyard/cluster";
import type { UsageEvent } from "@switchyard/proto/events/v1/events";
import { UsageEventSchema } from "@switchyard/proto/events/v1/events";
import type { InferRequest, InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import {
  DecideRequestSchema,
  FailedAttemptSchema,
  RequestFactsSchema,
} from "@switchyard/proto/routing/v1/routing_service";
import type {
  Attempt as AttemptOrder,
  DecideResponse,
  FailedAttempt,
  Refusal,
} from "@switchyard/proto/routing/v1/routing_service";
import type { BodyFacts } from "@switchyard/providers";
import { Code, ConnectError, failure, readFailure, toConnectError } from "@switchyard/rpc";
import type { Call, Sink } from "@switchyard/rpc";
import type { ExchangeHead } from "@switchyard/upstream";
import type { Account, Accounts } from "./accounts.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptListener, AttemptPlan, ServedFacts } from "./attempt.ts";
import type { AttemptFailure, RealAnswer } from "./attempt-failure.ts";
import { AttemptLog } from "./attempt-log.ts";
import { callerAnswer, errorEvent, servedHeaders } from "./answers.ts";
import { statusOfClass } from "./class-status.ts";
import { costOf, formatCost, usageToWire } from "./cost.ts";
import type { ForwarderDeps } from "./deps.ts";
import { endpointToWire } from "./endpoints.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";
import type { OwnKey } from "./own-key.ts";
import { chunkPart, headPart, trailerPart } from "./parts.ts";
import { planAttempt } from "./plan.ts";
import { settle } from "./settle.ts";

/** What every run of a forwarder shares. */
export interface RunDeps extends ForwarderDeps {
  readonly accounts: Accounts;
  readonly reporter: OutcomeReporter;
}

/** One request as its run sees it. */
export interface RunRequest {
  readonly id: string;
  readonly infer: InferRequest;
  readonly facts: BodyFacts;
  /** Flat, lower-case names. */
  readonly headers: readonly string[];
  readonly ownKey: OwnKey | undefined;
  readonly arrivedAt: number;
}

/**
 * Serves one request: asks for a decision, makes that one attempt, and asks again with the history while nothing
 * has reached the caller. The only place that waits and tries again (invariant 7).
 */
export class RequestRun implements AttemptListener {
  readonly #deps: RunDeps;
  readonly #request: RunRequest;
  readonly #sink: Sink<InferResponse>;
  readonly #call: Call;
  readonly #log = new AttemptLog();
  readonly #onCancel = (): void => this.#cancelled();
  #continuation: Uint8Array = new Uint8Array(0);
  #decided: DecideResponse | undefined;
  #order: AttemptOrder | undefined;
  #decidedAt = 0;
  #attempt: Attempt | undefined;
  #attemptStartedAt = 0;
  #inFlight: { dec(): void } | undefined;
  #answer: RealAnswer | "unusable" | undefined;
  #answerError: AttemptFailure["error"] | undefined;
  #delay: NodeJS.Timeout | undefined;
  #firstByteAt = 0;
  #status = 0;
  #over = false;

  constructor(deps: RunDeps, request: RunRequest, sink: Sink<InferResponse>, call: Call) {
    this.#deps = deps;
    this.#request = request;
    this.#sink = sink;
    this.#call = call;
  }

  start(): void {
    this.#call.onCancel(this.#onCancel);
    if (!this.#over) this.#decide(undefined);
  }

  #decide(failed: FailedAttempt | undefined): void {
    const { facts, ownKey } = this.#request;
    const now = this.#deps.now();
    const request = create(DecideRequestSchema, {
      facts: create(RequestFactsSchema, {
        id: this.#request.id,
        endpoint: endpointToWire(facts.endpoint),
        path: this.#request.infer.path,
        model: facts.model ?? "",
        stream: facts.stream,
        bodyBytes: BigInt(facts.bodyBytes),
        ownKeyProvider: ownKey?.provider ?? "",
        elapsedMs: BigInt(Math.max(0, Math.round(now - this.#request.arrivedAt))),
        ...(this.#call.deadline === undefined
          ? {}
          : { deadlineMs: BigInt(Math.max(0, Math.round(this.#call.deadline - now))) }),
      }),
      continuation: this.#continuation,
      ...(failed === undefined ? {} : { failed }),
      outcomes: this.#deps.reporter.recent(),
    });
    this.#decidedAt = now;
    settle(
      () => this.#deps.router.decide(request, this.#call),
      (decided) => this.#onDecided(decided),
      (error) => this.#onUndecided(error),
    );
  }

  #onDecided(decided: DecideResponse): void {
    this.#log.nameLast(decided.lastOutcome);
    if (this.#over) return;
    this.#decided = decided;
    this.#continuation = decided.continuation;
    if (decided.decision.case === "refusal") {
      this.#refuse(decided.decision.value);
    } else if (decided.decision.case === "attempt") {
      const order = decided.decision.value;
      this.#order = order;
      const delay = Number(order.delayMs);
      if (delay === 0) this.#begin(order);
      else this.#delay = setTimeout(() => this.#begin(order), delay);
    } else {
      this.#onUndecided(new Error("the router gave no decision"));
    }
  }

  #onUndecided(error: unknown): void {
    if (this.#over) return;
    if (this.#answer !== undefined) {
      this.#giveAnswer(this.#answer);
      return;
    }
    if (error instanceof ConnectError && error.code !== Code.Unavailable && error.code !== Code.Internal) {
      this.#fail(error);
      return;
    }
    this.#deps.logger.error("no routing decision", {
      request: this.#request.id,
      error: error instanceof Error ? error.message : "unknown",
    });
    this.#fail(failure("upstream_unavailable", "no router can be reached", { status: 503, cause: error }));
  }

  #begin(order: AttemptOrder): void {
    this.#attemptStartedAt = this.#deps.now();
    const { accounts } = this.#deps;
    const { ownKey } = this.#request;
    const account: Account | undefined =
      ownKey === undefined ? accounts.find(order.provider) : accounts.findFor(order.provider, ownKey.secret);
    if (account === undefined) {
      this.#onNotReady();
      return;
    }
    let plan: AttemptPlan;
    try {
      plan = planAttempt(order, account, this.#request);
    } catch (error) {
      this.#onFault(error);
      return;
    }
    const gauge = this.#deps.metrics.inFlight(order.group, order.deployment);
    gauge.inc();
    this.#inFlight = gauge;
    const attempt = new Attempt(plan, this, this.#deps.now);
    this.#attempt = attempt;
    this.#sink.onDrain(() => attempt.resume());
    attempt.start(this.#deps.upstream);
  }

  onServe(head: ExchangeHead, facts: ServedFacts | undefined): void {
    const order = this.#order as AttemptOrder;
    const headers = servedHeaders(head.headers);
    const { ms } = this.#elapsed();
    headers.push(
      "x-ants-attempts",
      this.#log.header({
        deployment: order.deployment,
        outcome: "ok",
        ms,
        status: head.status,
        error: undefined,
        message: undefined,
      }),
    );
    if (order.fallbackKind !== "") headers.push("x-ants-model-group", order.group);
    const cost = costOf(facts?.usage, order.price);
    if (cost !== undefined) headers.push("x-ants-cost", formatCost(cost));
    this.#firstByteAt = this.#deps.now();
    this.#status = head.status;
    this.#sink.send(headPart(head.status, headers));
  }

  onBytes(bytes: Uint8Array): boolean {
    return this.#sink.send(chunkPart(bytes));
  }

  onServed(facts: ServedFacts): void {
    const order = this.#order as AttemptOrder;
    this.#endAttempt(undefined, this.#status, undefined);
    const usage = facts.usage === undefined ? undefined : usageToWire(facts.usage);
    const costUsd = costOf(facts.usage, order.price);
    const served = {
      group: order.group,
      deployment: order.deployment,
      model: facts.model ?? "",
      usage,
      costUsd,
    };
    this.#sink.send(trailerPart(served));
    if (usage !== undefined) this.#deps.reporter.usage(this.#usageEvent(served));
    this.#finish();
    this.#sink.end();
  }

  onBroken(broken: AttemptFailure, event: Uint8Array | undefined): void {
    this.#endAttempt(broken.error, broken.status, broken.retryAfterMs);
    this.#finish(broken);
    if (event !== undefined) {
      // The provider said what is wrong in the caller's own dialect: its words go on as they are (P5).
      const { facts, id } = this.#request;
      this.#sink.send(chunkPart(errorEvent(facts.endpoint, statusOfClass(broken.error), event, id)));
      this.#sink.end();
      return;
    }
    this.#sink.fail(failure("upstream_invalid_response", broken.message, { status: 502 }));
  }

  onFailed(failed: AttemptFailure): void {
    const order = this.#order as AttemptOrder;
    const { ms } = this.#elapsed();
    this.#endAttempt(failed.error, failed.status, failed.retryAfterMs);
    this.#log.add({
      deployment: order.deployment,
      outcome: "failed",
      ms,
      status: failed.status,
      error: failed.error,
      message: failed.message,
    });
    if (failed.answer !== undefined) {
      this.#answer = failed.answer;
      this.#answerError = failed.error;
    }
    this.#decide(
      create(FailedAttemptSchema, {
        error: errorClassToWire(failed.error),
        status: failed.status ?? 0,
        durationMs: BigInt(ms),
        ...(failed.retryAfterMs === undefined
          ? {}
          : { retryAfterMs: BigInt(Math.round(failed.retryAfterMs)) }),
      }),
    );
  }

  /** Something that routing should not have let through: ours to mend, and nothing was sent. */
  #onFault(error: unknown): void {
    const { id } = this.#request;
    this.#deps.logger.error("internal error", {
      request: id,
      error: error instanceof Error ? error.message : "unknown",
    });
    this.#fail(toConnectError(error));
  }

  /** R10: moves on, uses no attempt, benches nothing. */
  #onNotReady(): void {
    this.#decide(create(FailedAttemptSchema, { error: errorClassToWire("not_ready"), durationMs: 0n }));
  }

  #refuse(refusal: Refusal): void {
    if (refusal.exhausted && this.#answer !== undefined) {
      this.#giveAnswer(this.#answer);
      return;
    }
    const metadata: Record<string, string> = {};
    if (refusal.retryAfterMs !== undefined) metadata["retry_after_ms"] = String(refusal.retryAfterMs);
    this.#fail(
      failure(refusal.code, refusal.message, { status: refusal.status, metadata: this.#traced(metadata) }),
    );
  }

  /** E7: the last provider's real answer. */
  #giveAnswer(answer: RealAnswer | "unusable"): void {
    if (answer === "unusable") {
      const message = this.#log.entries.findLast((entry) => entry.status !== undefined)?.message;
      this.#fail(
        failure("upstream_invalid_response", message ?? "the provider gave no usable answer", {
          status: 502,
          metadata: this.#traced({}),
        }),
      );
      return;
    }
    const inStream = answer.status >= 200 && answer.status <= 299;
    const status = inStream ? statusOfClass(this.#answerError ?? "server_error") : answer.status;
    const { headers, body } = callerAnswer(this.#request.facts.endpoint, status, answer, this.#request.id);
    headers.push("x-ants-attempts", this.#log.header());
    this.#status = status;
    this.#finish();
    this.#sink.send(headPart(status, headers));
    if (body.length > 0) this.#sink.send(chunkPart(body));
    this.#sink.end();
  }

  #traced(metadata: Record<string, string>): Record<string, string> {
    if (this.#log.count > 0) metadata["attempts"] = this.#log.header();
    return metadata;
  }

  #fail(error: ConnectError): void {
    const { status, code } = readFailure(error);
    this.#status = status;
    this.#deps.metrics.refusal(code).inc();
    this.#finish({ error: code, message: error.rawMessage });
    this.#sink.fail(error);
  }

  #cancelled(): void {
    if (this.#over) return;
    clearTimeout(this.#delay);
    if (this.#attempt !== undefined && this.#inFlight !== undefined) {
      this.#attempt.abort();
      this.#endAttempt("cancelled", undefined, undefined);
    }
    this.#status = 499;
    this.#finish();
    this.#sink.fail(failure("client_closed", "the caller went away", { status: 499 }));
  }

  /** Ends the attempt's paired scope (invariant 3): in-flight goes back and one outcome is reported. */
  #endAttempt(error: Outcome["error"], status: number | undefined, retryAfterMs: number | undefined): void {
    const order = this.#order as AttemptOrder;
    this.#inFlight?.dec();
    this.#inFlight = undefined;
    this.#attempt = undefined;
    this.#deps.metrics.attempt(order.group, order.deployment, error ?? "ok").inc();
    this.#deps.reporter.report({
      decision: order.decisionId,
      group: `${order.project}/${order.group}`,
      deployment: order.deployment,
      error,
      status,
      retryAfterMs,
      decidedAt: this.#decidedAt,
      at: this.#deps.now(),
      probe: order.lastResort,
      ownKey: this.#request.ownKey !== undefined,
    });
  }

  #elapsed(): { ms: number } {
    return { ms: Math.max(0, Math.round(this.#deps.now() - this.#attemptStartedAt)) };
  }

  #usageEvent(served: {
    group: string;
    deployment: string;
    model: string;
    usage: UsageEvent["usage"];
    costUsd: number | undefined;
  }): UsageEvent {
    return create(UsageEventSchema, {
      requestId: this.#request.id,
      group: `${this.#order?.project ?? ""}/${served.group}`,
      deployment: served.deployment,
      key: this.#decided?.keyName ?? "",
      team: this.#decided?.team ?? "",
      model: served.model,
      ...(served.usage === undefined ? {} : { usage: served.usage }),
      ...(served.costUsd === undefined ? {} : { costUsd: served.costUsd }),
    });
  }

  /** Writes the request's one log line and counts it; nothing of the request runs on. */
  #finish(broken?: { readonly error: string; readonly message: string }): void {
    this.#over = true;
    this.#call.offCancel(this.#onCancel);
    const { endpoint } = this.#request.facts;
    const order = this.#order;
    const now = this.#deps.now();
    const ms = Math.round(now - this.#request.arrivedAt);
    this.#deps.metrics.duration(endpoint).observe(ms / 1000);
    if (this.#firstByteAt > 0) {
      this.#deps.metrics.firstByte(endpoint).observe((this.#firstByteAt - this.#request.arrivedAt) / 1000);
    }
    this.#deps.metrics.request(endpoint, order?.group ?? "", String(this.#status)).inc();
    this.#deps.logger.info("request", {
      request: this.#request.id,
      endpoint,
      stream: this.#request.facts.stream,
      key: this.#decided?.keyName,
      team: this.#decided?.team,
      group: order?.group,
      deployment: order?.deployment,
      next: order?.next,
      strategy: order?.strategy,
      fallback: order?.fallbackKind,
      attempts: this.#log.count,
      failures: this.#log.entries.map((entry) => `${entry.deployment}=${entry.error ?? "ok"}`),
      status: this.#status,
      ms,
      revision: Number(this.#decided?.configRevision ?? 0n),
      error: broken?.error,
      reason: broken?.message,
    });
  }
}
