import type { InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import type {
  Attempt as AttemptOrder,
  DecideResponse,
  Refusal,
} from "@switchyard/proto/routing/v1/routing_service";
import { TranslationFault } from "@switchyard/providers";
import type { BodyFault, ElsewhereFault } from "@switchyard/providers";
import { Code, ConnectError, failure, readFailure, toConnectError } from "@switchyard/rpc";
import type { Sink } from "@switchyard/rpc";
import { errorEvent } from "../reply/answers.ts";
import type { AttemptFailure } from "../attempt/attempt-failure.ts";
import { AttemptLog } from "../report/attempt-log.ts";
import type { AttemptEntry } from "../report/attempt-log.ts";
import type { ServedFacts } from "../attempt/body.ts";
import { statusOfClass } from "../reply/class-status.ts";
import { bodyFailure } from "../request/asked.ts";
import { costOf, formatCost } from "../report/cost.ts";
import { describeFault } from "../describe-fault.ts";
import { lastAnswer, NO_RETRY, nobodyAnswered } from "../reply/last-answer.ts";
import { chunkPart, headPart, headerText, trailerPart } from "../reply/parts.ts";
import { recordRequest } from "../report/request-record.ts";
import type { RequestRecord } from "../report/request-record.ts";
import { ALL_FAILED, isCallersOwn } from "../report/request-trace.ts";
import type { RequestTrace } from "../report/request-trace.ts";
import type { RunDeps } from "./run-deps.ts";
import type { RunRequest } from "../request/run-request.ts";
import type { RunningAttempt, ServedHead } from "./running-attempt.ts";
import { countUsage, usageEvent } from "../report/usage-record.ts";

/** BH-31: when a conversation that is another account's may be tried again. */
const ELSEWHERE_MS = 10_000;

/** What a request came to, as its run knows it. */
export type RunFacts = Pick<RequestRecord, "decided" | "order" | "attempts" | "hedged">;

/** Who runs the request. */
export interface ReplyHost {
  /** Nothing of the request runs on. Called once, before the caller hears of the end, because it may leave at once. */
  stop(): RunFacts;
}

/**
 * What the caller of one request gets: an answer as it comes, or why there is none. Ends once, and writes down how the
 * request went.
 */
export class Reply {
  readonly log = new AttemptLog();
  readonly #deps: RunDeps;
  readonly #request: RunRequest;
  readonly #sink: Sink<InferResponse>;
  readonly #trace: RequestTrace | undefined;
  readonly #host: ReplyHost;
  /** The last failure with an HTTP answer (E7). */
  #answered: AttemptFailure | undefined;
  #served: AttemptEntry | undefined;
  #servedBy: AttemptOrder | undefined;
  #firstByteAt = 0;
  #status = 0;
  #over = false;

  constructor(
    deps: RunDeps,
    request: RunRequest,
    sink: Sink<InferResponse>,
    trace: RequestTrace | undefined,
    host: ReplyHost,
  ) {
    this.#deps = deps;
    this.#request = request;
    this.#sink = sink;
    this.#trace = trace;
    this.#host = host;
  }

  get over(): boolean {
    return this.#over;
  }

  /** An attempt has failed; its answer is the caller's where none gets further (E7). */
  noteFailure(from: RunningAttempt, failed: AttemptFailure): void {
    const { error, status, message } = failed;
    this.log.add({ deployment: from.order.deployment, ms: from.ms, status, error, message });
    if (failed.answer !== undefined) this.#answered = failed;
  }

  // --- an answer

  begin(from: RunningAttempt, { status, headers, facts }: ServedHead): void {
    const { deployment, fallbackKind, group, price } = from.order;
    const { ms } = from;
    const served = { deployment, outcome: "ok", ms, status, error: undefined, message: undefined } as const;
    this.#served = served;
    this.#servedBy = from.order;
    headers.push("x-ants-attempts", this.log.header(served));
    if (fallbackKind !== "") headers.push("x-ants-model-group", headerText(group));
    const cost = costOf(facts?.usage, price);
    if (cost !== undefined) headers.push("x-ants-cost", formatCost(cost));
    this.#firstByteAt = this.#deps.now();
    this.#status = status;
    this.#sink.onDrain(() => from.resume());
    this.#sink.send(headPart(status, headers));
  }

  /** False asks to wait. */
  bytes(bytes: Uint8Array): boolean {
    return this.#sink.send(chunkPart(bytes));
  }

  end(order: AttemptOrder, decided: DecideResponse | undefined, facts: ServedFacts): void {
    const { group, deployment, price } = order;
    const costUsd = costOf(facts.usage, price);
    this.#trace?.served(facts, costUsd);
    const event = usageEvent(this.#request.id, order, decided, facts, costUsd);
    if (event !== undefined) {
      this.#deps.reporter.usage(event);
      countUsage(this.#deps.metrics, group, event);
    }
    const served = { group, deployment, model: facts.model ?? "", usage: event?.usage, costUsd };
    this.#finish(undefined, undefined);
    this.#sink.send(trailerPart(served));
    this.#sink.end();
  }

  /** It broke after it had begun; `event` and `sequence` as {@link AttemptListener.onBroken} has them. */
  break(broken: AttemptFailure, event: Uint8Array | undefined, sequence: number | undefined): void {
    this.#finish(broken.error, undefined);
    if (event !== undefined) {
      // The provider said what is wrong in the caller's own dialect: its words go on as they are (P5).
      const { facts, id } = this.#request;
      const status = statusOfClass(broken.error);
      this.#sink.send(chunkPart(errorEvent(facts.endpoint, status, event, id, sequence)));
      this.#sink.send(
        trailerPart(this.#servedBy && { group: this.#servedBy.group, deployment: this.#servedBy.deployment }),
      );
      this.#sink.end();
      return;
    }
    // Where events are numbered, the one that ends the stream is too.
    const metadata = sequence === undefined || sequence === 0 ? {} : { sequence: String(sequence) };
    this.#sink.fail(failure("upstream_invalid_response", broken.message, { status: 502, metadata }));
  }

  // --- none

  refuse(refusal: Refusal): void {
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

  /** After a first attempt the fault is not the caller's: what is known of the providers is told (E7). */
  undecided(error: unknown, first: boolean): void {
    if (first && error instanceof ConnectError && !isOutage(error)) {
      this.#fail(error);
      return;
    }
    this.#deps.logger.error("no routing decision", {
      request: this.#request.id,
      error: describeFault(error),
    });
    if (this.#answered !== undefined) this.#giveAnswer(this.#answered);
    else if (this.log.count > 0) this.#fail(nobodyAnswered(this.log), ALL_FAILED);
    else
      this.#fail(failure("upstream_unavailable", "no router can be reached", { status: 503, cause: error }));
  }

  /**
   * P2: the caller's to mend, so it is not tried elsewhere. BH-31: nothing is sent blindly to an account that can't read
   * it; the one that can may be back soon. An answer that another deployment gave before tells more (E7).
   */
  unsayable(fault: TranslationFault | ElsewhereFault): void {
    if (this.#answered !== undefined) {
      this.#giveAnswer(this.#answered);
    } else if (fault instanceof TranslationFault) {
      const { code, message, param } = fault;
      this.#fail(failure(code, message, { status: 400, metadata: this.#traced({ param }) }));
    } else {
      const metadata = this.#traced({ retry_after_ms: String(ELSEWHERE_MS) });
      this.#fail(failure("upstream_unavailable", fault.message, { status: 503, metadata }));
    }
  }

  /** The caller's to mend: its body can't be routed. */
  unreadable(fault: BodyFault): void {
    this.#fail(bodyFailure(fault));
  }

  /** Something of ours threw, perhaps after the end. */
  fault(error: unknown): void {
    if (this.#over) this.#sink.fail(toConnectError(error));
    else this.#fail(toConnectError(error));
  }

  /** The caller has left. */
  cancel(): void {
    this.#status = 499;
    this.#finish("client_closed", undefined);
    this.#sink.fail(failure("client_closed", "the caller went away", { status: 499 }));
  }

  /** H1: whatever reached a provider tells of it. */
  #traced(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
    return this.log.count === 0 ? metadata : { ...metadata, attempts: this.log.header() };
  }

  /** `final`: the router said that the same request again can't help. */
  #giveAnswer(failed: AttemptFailure, final = false): void {
    const { facts, id } = this.#request;
    const last = lastAnswer(failed, facts.endpoint, id, this.log, final);
    if (last.kind === "error") {
      this.#fail(last.error, ALL_FAILED);
      return;
    }
    this.#status = last.status;
    this.#finish(failed.error, undefined, isCallersOwn(failed.error) ? undefined : ALL_FAILED);
    this.#sink.send(headPart(last.status, last.headers));
    if (last.body.length > 0) this.#sink.send(chunkPart(last.body));
    this.#sink.send(trailerPart());
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

  #finish(error: string | undefined, reason: string | undefined, refusal?: string): void {
    this.#over = true;
    recordRequest(this.#deps, {
      ...this.#host.stop(),
      request: this.#request,
      log: this.log,
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
