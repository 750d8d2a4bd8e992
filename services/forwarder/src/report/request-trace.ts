import type { InferRequest } from "@switchyard/proto/inference/v1/inference_service";
import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import type { Endpoint } from "@switchyard/core";
import type { ErrorClass } from "@switchyard/core";
import type { AttemptSpan, RequestSpan, Tracer } from "@switchyard/telemetry";
import type { AttemptEnd, AttemptTrace } from "./attempt-scope.ts";
import type { ServedFacts } from "../attempt/body.ts";
import type { RequestRecord } from "./request-record.ts";
import type { RunRequest } from "../request/run-request.ts";

/** E7: how the trace names the end of a request that no deployment served. */
export const ALL_FAILED = "all_deployments_failed";

/** E1: classes that are the caller's to mend, so that no deployment failed. */
const CALLERS_OWN: ReadonlySet<ErrorClass> = new Set([
  "invalid_request",
  "payload_too_large",
  "context_length",
  "content_filter",
]);

/** Whether a provider's error is given back because the caller has to mend it. */
export function isCallersOwn(error: ErrorClass): boolean {
  return CALLERS_OWN.has(error);
}

/** Operations of the GenAI conventions. */
const OPERATIONS: Readonly<Record<Endpoint, string>> = {
  chat: "chat",
  responses: "chat",
  messages: "chat",
  embeddings: "embeddings",
  count_tokens: "count_tokens",
  native: "native",
};

/** The conventions have no word for calls about a stored response. */
const STORED = "stored_response";
const STORED_ID = /(?<=^\/v1\/responses)\/[^/]+/;

/** The spans of one request: its own, and one for each attempt. There is none where tracing is off. */
export class RequestTrace {
  readonly #request: RunRequest;
  readonly #operation: string;
  readonly #span: RequestSpan;
  #served: ServedFacts | undefined;
  #costUsd: number | undefined;

  constructor(tracer: Tracer, request: RunRequest) {
    const { headers, id, infer, facts, storedCall } = request;
    this.#request = request;
    this.#operation = storedCall === undefined ? OPERATIONS[facts.endpoint] : STORED;
    this.#span = tracer.startRequest({
      headers,
      method: infer.method,
      route: storedCall === undefined ? infer.path : infer.path.replace(STORED_ID, "/{id}"),
      operation: this.#operation,
      stream: facts.stream,
      requestId: id,
    });
  }

  /** Begins an attempt's span. */
  attempt(order: AttemptOrder, family: string, resends: number): TracedAttempt {
    const { group, deployment, model, step, fallbackKind } = order;
    const span = this.#span.startAttempt({
      operation: this.#operation,
      family,
      model,
      stream: this.#request.facts.stream,
      deployment,
      group,
      step,
      fallbackKind,
      resends,
    });
    return new TracedAttempt(span, this.#request);
  }

  /** What is known of the answer that served. */
  served(facts: ServedFacts, costUsd: number | undefined): void {
    this.#served = facts;
    this.#costUsd = costUsd;
  }

  end({ request, decided, order, log, status, error, refusal, served }: RequestRecord): void {
    const count = log.count + (served === undefined ? 0 : 1);
    this.#span.end({
      status,
      error,
      refusal,
      askedGroup: order === undefined ? undefined : (request.facts.model ?? order.group),
      group: order?.group,
      fallbackKind: order?.fallbackKind,
      strategy: order?.strategy,
      affinity: order?.affinity,
      deployment: order?.deployment,
      next: order?.next,
      attempts: count === 0 ? "" : log.traced(served),
      configRevision: decided === undefined ? undefined : Number(decided.configRevision),
      key: decided?.keyName,
      team: decided?.team,
      model: this.#served?.model,
      costUsd: this.#costUsd,
    });
  }
}

/** The span of one attempt. */
export class TracedAttempt implements AttemptTrace {
  /** The request as it is to be sent, so that the provider's span is the attempt's child. */
  readonly request: RunRequest;
  readonly #span: AttemptSpan;
  readonly #streams: boolean;
  #served: ServedFacts | undefined;
  #ended = false;

  constructor(span: AttemptSpan, request: RunRequest) {
    this.#span = span;
    this.#streams = request.facts.stream;
    this.request = { ...request, headers: [...withoutTrace(request.headers), ...span.headers] };
  }

  sentTo(origin: string): void {
    this.#span.sentTo(origin);
  }

  serves(): void {
    if (this.#streams) this.#span.firstToken();
  }

  /** The attempt served; its end follows. */
  served(facts: ServedFacts): void {
    this.#served = facts;
  }

  attemptEnded({ error, status }: AttemptEnd): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#span.end({ error, status, model: this.#served?.model, usage: this.#served?.usage });
  }
}

/** What is known of a request that nobody decided on. */
const UNROUTED = {
  askedGroup: undefined,
  group: undefined,
  fallbackKind: undefined,
  strategy: undefined,
  affinity: undefined,
  deployment: undefined,
  next: undefined,
  attempts: "",
  configRevision: undefined,
  key: undefined,
  team: undefined,
  model: undefined,
  costUsd: undefined,
} as const;

function withoutTrace(headers: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string;
    if (name !== "traceparent" && name !== "tracestate") kept.push(name, headers[at + 1] as string);
  }
  return kept;
}

/** The span of a request that was refused before it ran; path and text are the caller's, so they are left out. */
export function traceRefusal(
  tracer: Tracer,
  { headers, method, requestId }: InferRequest,
  status: number,
  code: string,
): void {
  const flat = headers.flatMap(({ name, value }) => [name, value]);
  const nothing = { route: undefined, operation: undefined, stream: false };
  const span = tracer.startRequest({ ...nothing, headers: flat, method, requestId });
  span.end({ ...UNROUTED, status, error: code, refusal: code });
}
