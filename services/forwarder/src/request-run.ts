import { create } from "@bufbuild/protobuf";
import { errorClassToWire } from "@switchyard/cluster";
import { keepsResponses } from "@switchyard/config";
import { UsageEventSchema } from "@switchyard/proto/events/v1/events";
import type { UsageEvent } from "@switchyard/proto/events/v1/events";
import type { InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import { FailedAttemptSchema } from "@switchyard/proto/routing/v1/routing_service";
import type {
  Attempt as AttemptOrder,
  DecideResponse,
  Refusal,
} from "@switchyard/proto/routing/v1/routing_service";
import { ElsewhereFault, TranslationFault } from "@switchyard/providers";
import { Code, ConnectError, failure, readFailure, toConnectError } from "@switchyard/rpc";
import type { Call, Sink } from "@switchyard/rpc";
import type { ExchangeHead, TokenSource } from "@switchyard/upstream";
import type { Account, Accounts } from "./accounts.ts";
import type { AffinityReasons } from "./affinity-reasons.ts";
import { Attempt } from "./attempt.ts";
import type { AttemptListener } from "./attempt.ts";
import type { AttemptFailure } from "./attempt-failure.ts";
import { AttemptLog } from "./attempt-log.ts";
import type { AttemptEntry } from "./attempt-log.ts";
import { AttemptScope, servedCall, UNJUDGED } from "./attempt-scope.ts";
import { errorEvent, servedHeaders } from "./answers.ts";
import { statusOfClass } from "./class-status.ts";
import type { ServedFacts } from "./body.ts";
import { costOf, formatCost, usageToWire } from "./cost.ts";
import { DecisionStep } from "./decision-step.ts";
import type { DecisionListener } from "./decision-step.ts";
import type { ForwarderDeps } from "./deps.ts";
import { describeFault } from "./describe-fault.ts";
import { lastAnswer, NO_RETRY, nobodyAnswered } from "./last-answer.ts";
import type { KeptResponses } from "./kept-responses.ts";
import type { LoadReporter } from "./load-reporter.ts";
import type { OutcomeReporter } from "./outcome-reporter.ts";
import { chunkPart, headPart, headerText, trailerPart } from "./parts.ts";
import { planAttempt } from "./plan.ts";
import { recordRequest } from "./request-record.ts";
import type { RunRequest } from "./run-request.ts";
import { blameless } from "./stored-request.ts";
import { ALL_FAILED, isCallersOwn, RequestTrace } from "./request-trace.ts";

/** What every run of a forwarder shares. */
export interface RunDeps extends ForwarderDeps {
  readonly accounts: Accounts;
  readonly reporter: OutcomeReporter;
  readonly load: LoadReporter;
  readonly responses: KeptResponses;
  readonly reasons: AffinityReasons;
}

/** BH-31: when a conversation that is another account's may be tried again. */
const ELSEWHERE_MS = 10_000;

/**
 * Serves one request: asks for a decision, makes that one attempt, and asks again with the history while nothing
 * has reached the caller. The only place that waits and tries again (invariant 7).
 */
export class RequestRun implements AttemptListener, DecisionListener {
  readonly #deps: RunDeps;
  readonly #request: RunRequest;
  readonly #sink: Sink<InferResponse>;
  readonly #call: Call;
  readonly #decision: DecisionStep;
  readonly #log = new AttemptLog();
  readonly #trace: RequestTrace | undefined;
  readonly #onCancel = (): void => this.#cancelled();
  #order: AttemptOrder | undefined;
  #attempt: Attempt | undefined;
  #scope: AttemptScope | undefined;
  #attempts = 0;
  /** The decision that is asked for follows an attempt that was made, not one that could not be. */
  #called = false;
  /** The last failure with an HTTP answer (E7). */
  #answered: AttemptFailure | undefined;
  #delay: NodeJS.Timeout | undefined;
  #translated = false;
  /** What the provider answers stays with it (P8). */
  #keeps = false;
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
    if (decision.case === "refusal") {
      this.#refuse(decision.value);
    } else if (decision.case === "attempt") {
      const order = decision.value;
      this.#order = order;
      this.#scope = new AttemptScope(this.#deps, {
        order,
        askedAt: this.#decision.askedAt,
        facts: this.#request.facts,
        ownKey: this.#request.ownKey !== undefined,
      });
      const delay = Number(order.delayMs);
      if (delay === 0) this.#begin(order);
      else this.#delay = setTimeout(() => this.#begin(order), delay);
    } else {
      this.onUndecided(new Error("the router gave no decision"));
    }
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

  #begin(order: AttemptOrder): void {
    try {
      const account = this.#accountFor(order);
      if (account === undefined) this.#onNotReady();
      else if (account.tokens === undefined) this.#attemptAs(account, order);
      else
        this.#attemptWithToken(account, account.tokens, order).catch((error: unknown) => this.onFault(error));
    } catch (error) {
      this.onFault(error);
    }
  }

  /** A token is nearly always at hand; where one must be got first, the request waits for it. */
  async #attemptWithToken(account: Account, tokens: TokenSource, order: AttemptOrder): Promise<void> {
    const secret = tokens.current() ?? (await tokens.next());
    if (this.#over) return;
    if (secret === undefined) this.#onNotReady();
    else this.#attemptAs({ ...account, secret }, order);
  }

  #attemptAs(account: Account, order: AttemptOrder): void {
    try {
      const request = this.#trace?.attempt(order, account.facts.family, this.#attempts) ?? this.#request;
      const plan = planAttempt(order, account, request, this.#deps.now());
      this.#trace?.sentTo(plan.exchange.origin);
      this.#translated = plan.answer.translated;
      this.#keeps = this.#request.storedCall === undefined && keepsResponses(account.facts);
      this.#attempts += 1;
      this.#scope?.start(this.#trace);
      const attempt = new Attempt(plan, account.secret, this, this.#deps.now);
      this.#attempt = attempt;
      this.#sink.onDrain(() => attempt.resume());
      attempt.start(this.#deps.upstream);
    } catch (error) {
      if (error instanceof TranslationFault) this.#onNotTranslatable(error);
      else if (error instanceof ElsewhereFault) this.#onElsewhere(error);
      else this.onFault(error);
    }
  }

  /** P2: the caller's to mend, so it is not tried elsewhere; an answer that another deployment gave before tells more (E7). */
  #onNotTranslatable({ code, message, param }: TranslationFault): void {
    if (this.#answered !== undefined) this.#giveAnswer(this.#answered);
    else this.#fail(failure(code, message, { status: 400, metadata: this.#traced({ param }) }));
  }

  /** BH-31: nothing is sent blindly to an account that can't read it; the one that can may be back soon. */
  #onElsewhere({ message }: ElsewhereFault): void {
    const wait = { retry_after_ms: String(ELSEWHERE_MS) };
    if (this.#answered !== undefined) this.#giveAnswer(this.#answered);
    else this.#fail(failure("upstream_unavailable", message, { status: 503, metadata: this.#traced(wait) }));
  }

  #accountFor(order: AttemptOrder): Account | undefined {
    const { ownKey } = this.#request;
    if (ownKey === undefined) return this.#deps.accounts.find(order.provider);
    // E9 holds here too, whatever a router says: this is where the key would leave.
    if (ownKey.provider !== order.provider) {
      throw failure("invalid_provider_key", "x-provider-key belongs to another provider", { status: 400 });
    }
    return this.#deps.accounts.findFor(order.provider, ownKey.secret);
  }

  onServe(head: ExchangeHead, facts: ServedFacts | undefined, keeps?: readonly string[]): void {
    const order = this.#order as AttemptOrder;
    if (keeps !== undefined && this.#keeps) this.#deps.responses.remember(keeps, order);
    const { deployment } = order;
    const { status } = head;
    const told = facts === undefined ? "stream" : "whole";
    const headers = servedHeaders(head.headers, this.#translated ? told : undefined);
    const ms = this.#scope?.ms ?? 0;
    const served = { deployment, outcome: "ok", ms, status, error: undefined, message: undefined } as const;
    this.#served = served;
    this.#trace?.serves();
    headers.push("x-ants-attempts", this.#log.header(served));
    if (order.fallbackKind !== "") headers.push("x-ants-model-group", headerText(order.group));
    const cost = costOf(facts?.usage, order.price);
    if (cost !== undefined) headers.push("x-ants-cost", formatCost(cost));
    this.#firstByteAt = this.#deps.now();
    this.#status = status;
    this.#sink.send(headPart(status, headers));
  }

  onBytes(bytes: Uint8Array): boolean {
    return this.#sink.send(chunkPart(bytes));
  }

  onServed(facts: ServedFacts): void {
    const { group, deployment, price } = this.#order as AttemptOrder;
    const costUsd = costOf(facts.usage, price);
    this.#trace?.served(facts, costUsd);
    const ok = { error: undefined, status: this.#status, retryAfterMs: undefined };
    this.#scope?.end(ok, servedCall((this.#attempt as Attempt).timing, facts.usage));
    const usage = facts.usage === undefined ? undefined : usageToWire(facts.usage);
    const served = { group, deployment, model: facts.model ?? "", usage, costUsd };
    if (usage !== undefined) this.#deps.reporter.usage(this.#usageEvent(served));
    this.#finish(undefined, undefined);
    this.#sink.send(trailerPart(served));
    this.#sink.end();
  }

  onBroken(broken: AttemptFailure, event: Uint8Array | undefined, sequence?: number): void {
    this.#scope?.end(broken);
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

  onFailed(given: AttemptFailure): void {
    const failed = this.#request.facts.continues.length > 0 ? blameless(given) : given;
    const { deployment } = this.#order as AttemptOrder;
    const { error, status, message, retryAfterMs } = failed;
    const ms = this.#scope?.ms ?? 0;
    this.#scope?.end(failed);
    this.#log.add({ deployment, ms, status, error, message });
    if (failed.answer !== undefined) this.#answered = failed;
    this.#called = true;
    this.#decision.ask(
      create(FailedAttemptSchema, {
        error: errorClassToWire(error),
        status: status ?? 0,
        durationMs: BigInt(ms),
        ...(retryAfterMs === undefined ? {} : { retryAfterMs: BigInt(Math.round(retryAfterMs)) }),
      }),
    );
  }

  /** Ours to mend, or a request that can't be put to the provider: no other deployment would change it. */
  onFault(error: unknown): void {
    this.#attempt?.abort();
    this.#scope?.end(UNJUDGED);
    if (this.#over) {
      this.#sink.fail(toConnectError(error));
      return;
    }
    if (!(error instanceof ConnectError)) {
      this.#deps.logger.error("internal error", { request: this.#request.id, error: describeFault(error) });
    }
    this.#fail(toConnectError(error));
  }

  /** R10: moves on, uses no attempt, benches nothing. */
  #onNotReady(): void {
    this.#called = false;
    this.#scope?.end(UNJUDGED);
    this.#decision.ask(create(FailedAttemptSchema, { error: errorClassToWire("not_ready"), durationMs: 0n }));
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
    this.#attempt?.abort();
    this.#scope?.end(UNJUDGED);
    this.#status = 499;
    this.#finish("client_closed", undefined);
    this.#sink.fail(failure("client_closed", "the caller went away", { status: 499 }));
  }

  #usageEvent(served: {
    group: string;
    deployment: string;
    model: string;
    usage: UsageEvent["usage"];
    costUsd: number | undefined;
  }): UsageEvent {
    const decided = this.#decision.last;
    return create(UsageEventSchema, {
      requestId: this.#request.id,
      group: this.#order?.groupKey ?? "",
      deployment: served.deployment,
      key: decided?.keyName ?? "",
      team: decided?.team ?? "",
      model: served.model,
      ...(served.usage === undefined ? {} : { usage: served.usage }),
      ...(served.costUsd === undefined ? {} : { costUsd: served.costUsd }),
    });
  }

  /** Nothing of the request runs on. Comes before the sink's end, whose caller may leave at once. */
  #finish(error: string | undefined, reason: string | undefined, refusal?: string): void {
    this.#over = true;
    // Of whatever the request still had, also a decision that it waited for to begin.
    this.#scope?.end(UNJUDGED);
    clearTimeout(this.#delay);
    this.#decision.forget();
    this.#call.offCancel(this.#onCancel);
    recordRequest(this.#deps, {
      request: this.#request,
      decided: this.#decision.last,
      order: this.#order,
      attempts: this.#attempts,
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
