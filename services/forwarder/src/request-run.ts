import { create } from "@bufbuild/protobuf";
import { errorClassToWire } from "@switchyard/cluster";
import type { ErrorClass } from "@switchyard/core";
import type { InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import { FailedAttemptSchema } from "@switchyard/proto/routing/v1/routing_service";
import type {
  Attempt as AttemptOrder,
  DecideResponse,
  FailedAttempt,
  Refusal,
} from "@switchyard/proto/routing/v1/routing_service";
import { TranslationFault } from "@switchyard/providers";
import type { ElsewhereFault } from "@switchyard/providers";
import { Code, ConnectError, failure, readFailure, toConnectError } from "@switchyard/rpc";
import type { Call, Sink } from "@switchyard/rpc";
import { errorEvent } from "./answers.ts";
import type { AttemptFailure } from "./attempt-failure.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { AttemptEntry } from "./attempt-log.ts";
import type { ServedFacts } from "./body.ts";
import { statusOfClass } from "./class-status.ts";
import { costOf, formatCost } from "./cost.ts";
import { DecisionStep } from "./decision-step.ts";
import type { DecisionListener } from "./decision-step.ts";
import { describeFault } from "./describe-fault.ts";
import { lastAnswer, NO_RETRY, nobodyAnswered } from "./last-answer.ts";
import { chunkPart, headPart, headerText, trailerPart } from "./parts.ts";
import { recordRequest } from "./request-record.ts";
import { ALL_FAILED, isCallersOwn, RequestTrace } from "./request-trace.ts";
import type { RunDeps } from "./run-deps.ts";
import type { RunRequest } from "./run-request.ts";
import { RunningAttempt } from "./running-attempt.ts";
import type { RunningListener, ServedHead } from "./running-attempt.ts";
import { countUsage, usageEvent } from "./usage-record.ts";

/** BH-31: when a conversation that is another account's may be tried again. */
const ELSEWHERE_MS = 10_000;

/**
 * Serves one request: asks for a decision, makes that one attempt, and asks again with the history while nothing
 * has reached the caller. The only place that waits and tries again (invariant 7). Where a first attempt is slow it may
 * let another run beside it: whichever begins to serve first is the answer, and the other is cut off (invariant 5).
 */
export class RequestRun implements RunningListener, DecisionListener {
  readonly #deps: RunDeps;
  readonly #request: RunRequest;
  readonly #sink: Sink<InferResponse>;
  readonly #call: Call;
  readonly #decision: DecisionStep;
  readonly #log = new AttemptLog();
  readonly #trace: RequestTrace | undefined;
  readonly #onCancel = (): void => this.#cancelled();
  /** Of the attempt that serves, else of the last one. */
  #order: AttemptOrder | undefined;
  /** The attempt that the last decision asked for, and the one beside which it was asked for. */
  #current: RunningAttempt | undefined;
  #beside: RunningAttempt | undefined;
  /** Of two that ran side by side, how the one ended that ended first. */
  #before: FailedAttempt | undefined;
  #hedged = false;
  #begun = 0;
  /** The decision that is asked for follows an attempt that was made, not one that could not be. */
  #called = false;
  /** The last failure with an HTTP answer (E7). */
  #answered: AttemptFailure | undefined;
  #served: AttemptEntry | undefined;
  #firstByteAt = 0;
  #status = 0;
  #over = false;

  constructor(deps: RunDeps, request: RunRequest, sink: Sink<InferResponse>, call: Call) {
    this.#deps = deps;
    this.#request = request;
    this.#sink = sink;
    this.#call = call;
    this.#decision = new DecisionStep(deps, request, call, this);
    this.#trace = deps.tracer === undefined ? undefined : new RequestTrace(deps.tracer, request);
  }

  start(): void {
    this.#call.onCancel(this.#onCancel);
    if (!this.#over) this.#decision.ask(undefined);
  }

  onDecided(decided: DecideResponse): void {
    if (this.#over) return;
    if (this.#called) this.#log.nameLast(decided.lastOutcome);
    const { decision } = decided;
    if (decision.case === "refusal") this.#refuse(decision.value);
    else if (decision.case === "attempt") this.#run(decision.value);
    else this.onUndecided(new Error("the router gave no decision"));
  }

  /** After a first attempt the fault is not the caller's: what is known of the providers is told (E7). */
  onUndecided(error: unknown): void {
    if (this.#over) return;
    const first = this.#decision.last === undefined;
    if (first && error instanceof ConnectError && !isOutage(error)) {
      this.#fail(error);
      return;
    }
    this.#deps.logger.error("no routing decision", {
      request: this.#request.id,
      error: describeFault(error),
    });
    if (this.#answered !== undefined) this.#giveAnswer(this.#answered);
    else if (this.#log.count > 0) this.#fail(nobodyAnswered(this.#log), ALL_FAILED);
    else
      this.#fail(failure("upstream_unavailable", "no router can be reached", { status: 503, cause: error }));
  }

  #run(order: AttemptOrder): void {
    const decided = { order, askedAt: this.#decision.askedAt };
    const running = new RunningAttempt(this.#deps, this.#request, decided, this.#trace, this);
    this.#order = order;
    this.#current = running;
    running.start();
  }

  get begun(): number {
    return this.#begun;
  }

  onBegin(): void {
    this.#begun += 1;
  }

  // --- two side by side

  onSlow(from: RunningAttempt): void {
    if (this.#over || from !== this.#current || this.#beside !== undefined) return;
    this.#decision.askBeside();
  }

  onBeside(order: AttemptOrder | undefined): void {
    const slow = this.#current;
    if (this.#over || order === undefined || slow === undefined) return;
    this.#hedged = true;
    this.#beside = slow;
    this.#run(order);
  }

  /** The other of two that run. */
  #otherThan(from: RunningAttempt): RunningAttempt | undefined {
    if (this.#beside === undefined || this.#before !== undefined) return undefined;
    return from === this.#current ? this.#beside : this.#current;
  }

  /** H1: an attempt that is not waited for any more is told of too. */
  #cutOff(other: RunningAttempt, message: string): void {
    other.overtaken();
    const { ms, order } = other;
    this.#log.add({ deployment: order.deployment, ms, status: undefined, error: "cancelled", message });
  }

  /** One has ended without an answer: the next decision, unless another runs still. */
  #goOn(from: RunningAttempt, failed: FailedAttempt): void {
    if (this.#otherThan(from) !== undefined) {
      this.#before = failed;
      return;
    }
    const before = this.#before;
    // Nobody waits any more for another to run beside it.
    this.#decision.forget();
    this.#current = undefined;
    this.#beside = undefined;
    this.#before = undefined;
    this.#decision.ask(failed, before);
  }

  /** How an attempt ended, as routers are told; of two side by side they have to know which. */
  #told(from: RunningAttempt, error: ErrorClass, failed?: AttemptFailure): FailedAttempt {
    const retryAfterMs = failed?.retryAfterMs;
    return create(FailedAttemptSchema, {
      error: errorClassToWire(error),
      status: failed?.status ?? 0,
      durationMs: BigInt(from.ms),
      ...(retryAfterMs === undefined ? {} : { retryAfterMs: BigInt(Math.round(retryAfterMs)) }),
      ...(this.#beside === undefined ? {} : { decisionId: from.order.decisionId }),
    });
  }

  // --- what becomes of an attempt

  onServe(from: RunningAttempt, { status, headers, facts }: ServedHead): void {
    const other = this.#otherThan(from);
    if (other !== undefined) this.#cutOff(other, "another attempt was faster");
    this.#current = from;
    this.#beside = undefined;
    this.#decision.forget();
    const { order } = from;
    this.#order = order;
    const { deployment } = order;
    const served = {
      deployment,
      outcome: "ok",
      ms: from.ms,
      status,
      error: undefined,
      message: undefined,
    } as const;
    this.#served = served;
    headers.push("x-ants-attempts", this.#log.header(served));
    if (order.fallbackKind !== "") headers.push("x-ants-model-group", headerText(order.group));
    const cost = costOf(facts?.usage, order.price);
    if (cost !== undefined) headers.push("x-ants-cost", formatCost(cost));
    this.#firstByteAt = this.#deps.now();
    this.#status = status;
    this.#sink.onDrain(() => from.resume());
    this.#sink.send(headPart(status, headers));
  }

  onBytes(bytes: Uint8Array): boolean {
    return this.#sink.send(chunkPart(bytes));
  }

  onServed({ order }: RunningAttempt, facts: ServedFacts): void {
    const { group, deployment, price } = order;
    const costUsd = costOf(facts.usage, price);
    this.#trace?.served(facts, costUsd);
    const event = usageEvent(this.#request.id, order, this.#decision.last, facts, costUsd);
    if (event !== undefined) {
      this.#deps.reporter.usage(event);
      countUsage(this.#deps.metrics, group, event);
    }
    const served = { group, deployment, model: facts.model ?? "", usage: event?.usage, costUsd };
    this.#finish(undefined, undefined);
    this.#sink.send(trailerPart(served));
    this.#sink.end();
  }

  onBroken(broken: AttemptFailure, event: Uint8Array | undefined, sequence?: number): void {
    this.#finish(broken.error, undefined);
    if (event !== undefined) {
      // The provider said what is wrong in the caller's own dialect: its words go on as they are (P5).
      const { facts, id } = this.#request;
      const status = statusOfClass(broken.error);
      this.#sink.send(chunkPart(errorEvent(facts.endpoint, status, event, id, sequence)));
      this.#sink.end();
      return;
    }
    this.#sink.fail(failure("upstream_invalid_response", broken.message, { status: 502 }));
  }

  onFailed(from: RunningAttempt, failed: AttemptFailure): void {
    const { error, status, message } = failed;
    const other = this.#otherThan(from);
    // What is the caller's own mistake is one there too (E1).
    if (other !== undefined && isCallersOwn(error)) {
      this.#cutOff(other, "the request was refused on its merits");
      this.#before = this.#told(other, "cancelled");
    }
    this.#order = from.order;
    this.#log.add({ deployment: from.order.deployment, ms: from.ms, status, error, message });
    if (failed.answer !== undefined) this.#answered = failed;
    this.#called = true;
    this.#goOn(from, this.#told(from, error, failed));
  }

  /** R10: moves on, uses no attempt, benches nothing. */
  onNotReady(from: RunningAttempt): void {
    this.#called = false;
    this.#goOn(from, this.#told(from, "not_ready"));
  }

  /**
   * P2: the caller's to mend, so it is not tried elsewhere. BH-31: nothing is sent blindly to an account that can't read
   * it; the one that can may be back soon. An answer that another deployment gave before tells more (E7).
   */
  onUnsayable(from: RunningAttempt, fault: TranslationFault | ElsewhereFault): void {
    if (this.#otherThan(from) !== undefined) {
      this.#goOn(from, this.#told(from, "not_ready"));
    } else if (this.#answered !== undefined) {
      this.#giveAnswer(this.#answered);
    } else if (fault instanceof TranslationFault) {
      const { code, message, param } = fault;
      this.#fail(failure(code, message, { status: 400, metadata: this.#traced({ param }) }));
    } else {
      const metadata = this.#traced({ retry_after_ms: String(ELSEWHERE_MS) });
      this.#fail(failure("upstream_unavailable", fault.message, { status: 503, metadata }));
    }
  }

  /**
   * Ours to mend, or a request that can't be put to the provider: no other deployment would change it. Another that runs
   * already may still serve.
   */
  onFault(error: unknown, from?: RunningAttempt): void {
    if (this.#over) {
      this.#sink.fail(toConnectError(error));
      return;
    }
    if (!(error instanceof ConnectError)) {
      this.#deps.logger.error("internal error", { request: this.#request.id, error: describeFault(error) });
    }
    if (from !== undefined && this.#otherThan(from) !== undefined)
      this.#goOn(from, this.#told(from, "not_ready"));
    else this.#fail(toConnectError(error));
  }

  #cancelRunning(): void {
    this.#current?.cancel();
    this.#beside?.cancel();
  }

  #refuse(refusal: Refusal): void {
    const { code, message, status, retryAfterMs, final } = refusal;
    if (refusal.exhausted && this.#answered !== undefined) {
      this.#giveAnswer(this.#answered, final);
      return;
    }
    const wait = {
      ...(retryAfterMs === undefined ? {} : { retry_after_ms: String(retryAfterMs) }),
      ...(final ? NO_RETRY : {}),
    };
    const error = failure(code, message, { status, metadata: this.#traced(wait) });
    this.#fail(error, refusal.exhausted ? ALL_FAILED : code);
  }

  /** H1: whatever reached a provider tells of it. */
  #traced(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return this.#log.count === 0 ? metadata : { ...metadata, attempts: this.#log.header() };
  }

  /** `final`: the router said that the same request again can't help. */
  #giveAnswer(failed: AttemptFailure, final = false): void {
    const { facts, id } = this.#request;
    const last = lastAnswer(failed, facts.endpoint, id, this.#log, final);
    if (last.kind === "error") {
      this.#fail(last.error, ALL_FAILED);
      return;
    }
    this.#status = last.status;
    this.#finish(failed.error, undefined, isCallersOwn(failed.error) ? undefined : ALL_FAILED);
    this.#sink.send(headPart(last.status, last.headers));
    if (last.body.length > 0) this.#sink.send(chunkPart(last.body));
    this.#sink.end();
  }

  /** `refusal`: how the trace names it, where not by its code. */
  #fail(error: ConnectError, refusal?: string): void {
    const { status, code } = readFailure(error);
    // What has begun keeps the status that the caller saw.
    if (this.#status === 0) this.#status = status;
    this.#deps.metrics.refusal(code).inc();
    this.#finish(code, error.rawMessage, refusal ?? code);
    this.#sink.fail(error);
  }

  #cancelled(): void {
    if (this.#over) return;
    this.#status = 499;
    this.#finish("client_closed", undefined);
    this.#sink.fail(failure("client_closed", "the caller went away", { status: 499 }));
  }

  /** Nothing of the request runs on. Comes before the sink's end, whose caller may leave at once. */
  #finish(error: string | undefined, reason: string | undefined, refusal?: string): void {
    this.#over = true;
    // Of whatever the request still had, also a decision that it waited for to begin.
    this.#cancelRunning();
    this.#decision.forget();
    this.#call.offCancel(this.#onCancel);
    recordRequest(this.#deps, {
      request: this.#request,
      decided: this.#decision.last,
      order: this.#order,
      attempts: this.#begun,
      hedged: this.#hedged,
      log: this.#log,
      status: this.#status,
      firstByteAt: this.#firstByteAt,
      error,
      reason,
      refusal,
      served: this.#served,
      trace: this.#trace,
    });
  }
}

/** Whether no router could decide, rather than one that refused the question. */
function isOutage(error: ConnectError): boolean {
  return error.code === Code.Unavailable || error.code === Code.Internal || error.code === Code.Unknown;
}
