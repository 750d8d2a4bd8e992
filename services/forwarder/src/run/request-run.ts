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
import type { ElsewhereFault, TranslationFault } from "@switchyard/providers";
import { ConnectError } from "@switchyard/rpc";
import type { Call, Sink } from "@switchyard/rpc";
import type { AttemptFailure } from "../attempt/attempt-failure.ts";
import type { ServedFacts } from "../attempt/body.ts";
import { DecisionStep } from "./decision-step.ts";
import type { DecisionListener } from "./decision-step.ts";
import { describeFault } from "../describe-fault.ts";
import { isCallersOwn, RequestTrace } from "../report/request-trace.ts";
import { Reply } from "./reply.ts";
import type { ReplyHost, RunFacts } from "./reply.ts";
import type { RunDeps } from "./run-deps.ts";
import type { RunRequest } from "../request/run-request.ts";
import { RunningAttempt } from "./running-attempt.ts";
import type { RunningListener, ServedHead } from "./running-attempt.ts";

/**
 * Serves one request: asks for a decision, makes that one attempt, and asks again with the history while nothing
 * has reached the caller. The only place that waits and tries again (invariant 7). Where a first attempt is slow it may
 * let another run beside it: whichever begins to serve first is the answer, and the other is cut off (invariant 5).
 */
export class RequestRun implements RunningListener, DecisionListener, ReplyHost {
  readonly #deps: RunDeps;
  readonly #request: RunRequest;
  readonly #call: Call;
  readonly #decision: DecisionStep;
  readonly #reply: Reply;
  readonly #trace: RequestTrace | undefined;
  readonly #onCancel = (): void => {
    if (!this.#reply.over) this.#reply.cancel();
  };
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

  constructor(deps: RunDeps, request: RunRequest, sink: Sink<InferResponse>, call: Call) {
    this.#deps = deps;
    this.#request = request;
    this.#call = call;
    this.#decision = new DecisionStep(deps, request, call, this);
    this.#trace = deps.tracer === undefined ? undefined : new RequestTrace(deps.tracer, request);
    this.#reply = new Reply(deps, request, sink, this.#trace, this);
  }

  start(): void {
    this.#call.onCancel(this.#onCancel);
    if (!this.#reply.over) this.#decision.ask(undefined);
  }

  onDecided(decided: DecideResponse): void {
    if (this.#reply.over) return;
    if (this.#called) this.#reply.log.nameLast(decided.lastOutcome);
    const { decision } = decided;
    if (decision.case === "refusal") this.#refuse(decision.value);
    else if (decision.case === "attempt") this.#run(decision.value);
    else this.onUndecided(new Error("the router gave no decision"));
  }

  /** A body that names no model which could be read is at fault where the key leaves a choice (R2). */
  #refuse(refusal: Refusal): void {
    const fault = this.#request.nativeCall?.fault;
    if (fault !== undefined && refusal.code === "model_not_allowed") this.#reply.unreadable(fault);
    else this.#reply.refuse(refusal);
  }

  onUndecided(error: unknown): void {
    if (!this.#reply.over) this.#reply.undecided(error, this.#decision.last === undefined);
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
    if (this.#reply.over || from !== this.#current || this.#beside !== undefined) return;
    this.#decision.askBeside();
  }

  onBeside(order: AttemptOrder | undefined): void {
    const slow = this.#current;
    if (this.#reply.over || order === undefined || slow === undefined) return;
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
    this.#reply.log.add({ deployment: order.deployment, ms, status: undefined, error: "cancelled", message });
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

  onServe(from: RunningAttempt, head: ServedHead): void {
    const other = this.#otherThan(from);
    if (other !== undefined) this.#cutOff(other, "another attempt was faster");
    this.#current = from;
    this.#beside = undefined;
    this.#decision.forget();
    this.#order = from.order;
    this.#reply.begin(from, head);
  }

  onBytes(bytes: Uint8Array): boolean {
    return this.#reply.bytes(bytes);
  }

  onServed({ order }: RunningAttempt, facts: ServedFacts): void {
    this.#reply.end(order, this.#decision.last, facts);
  }

  onBroken(broken: AttemptFailure, event: Uint8Array | undefined, sequence?: number): void {
    this.#reply.break(broken, event, sequence);
  }

  onFailed(from: RunningAttempt, failed: AttemptFailure): void {
    const { error } = failed;
    const other = this.#otherThan(from);
    // What is the caller's own mistake is one there too (E1).
    if (other !== undefined && isCallersOwn(error)) {
      this.#cutOff(other, "the request was refused on its merits");
      this.#before = this.#told(other, "cancelled");
    }
    this.#order = from.order;
    this.#reply.noteFailure(from, failed);
    this.#called = true;
    this.#goOn(from, this.#told(from, error, failed));
  }

  /** R10: moves on, uses no attempt, benches nothing. */
  onNotReady(from: RunningAttempt): void {
    this.#called = false;
    this.#goOn(from, this.#told(from, "not_ready"));
  }

  onUnsayable(from: RunningAttempt, fault: TranslationFault | ElsewhereFault): void {
    if (this.#otherThan(from) !== undefined) this.#goOn(from, this.#told(from, "not_ready"));
    else this.#reply.unsayable(fault);
  }

  /**
   * Ours to mend, or a request that can't be put to the provider: no other deployment would change it. Another that runs
   * already may still serve.
   */
  onFault(error: unknown, from?: RunningAttempt): void {
    if (this.#reply.over) {
      this.#reply.fault(error);
      return;
    }
    if (!(error instanceof ConnectError)) {
      this.#deps.logger.error("internal error", { request: this.#request.id, error: describeFault(error) });
    }
    if (from !== undefined && this.#otherThan(from) !== undefined)
      this.#goOn(from, this.#told(from, "not_ready"));
    else this.#reply.fault(error);
  }

  /** Of whatever the request still had, also a decision that it waited for to begin. */
  stop(): RunFacts {
    this.#current?.cancel();
    this.#beside?.cancel();
    this.#decision.forget();
    this.#call.offCancel(this.#onCancel);
    return {
      decided: this.#decision.last,
      order: this.#order,
      attempts: this.#begun,
      hedged: this.#hedged,
    };
  }
}
