import { defaultTextMapGetter, ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import type { Context, Span, Tracer as OtelApiTracer } from "@opentelemetry/api";
import { W3CTraceContextPropagator } from "@opentelemetry/core";
import type { TracerProvider } from "@opentelemetry/sdk-trace";
import {
  attemptEndAttributes,
  attemptStartAttributes,
  firstTokenAttributes,
  requestEndAttributes,
  requestStartAttributes,
  serverAttributes,
} from "./attributes.ts";
import type {
  AttemptSpan,
  AttemptSpanEnd,
  AttemptStart,
  RequestEnd,
  RequestSpan,
  RequestStart,
  Tracer,
} from "./tracer.ts";

const PROPAGATOR = new W3CTraceContextPropagator();
/** What ends an attempt that nobody is to blame for. */
const CANCELLED = "cancelled";

/** The port over OpenTelemetry. Spans name their parents outright: no context follows asynchronous calls, which would cost every one. */
export class OtelTracer implements Tracer {
  readonly #provider: TracerProvider;
  readonly #tracer: OtelApiTracer;

  constructor(provider: TracerProvider, version: string) {
    this.#provider = provider;
    this.#tracer = provider.getTracer("switchyard", version);
  }

  startRequest(start: RequestStart): RequestSpan {
    const parent = parentOf(start.headers);
    const name = start.operation ?? "refused";
    const options = { kind: SpanKind.SERVER, attributes: requestStartAttributes(start) };
    const span = this.#tracer.startSpan(name, options, parent);
    return new OtelRequestSpan(this.#tracer, span, trace.setSpan(parent, span), name);
  }

  async close(withinMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, withinMs);
    });
    await Promise.race([this.#provider.shutdown().catch(() => {}), late]);
    clearTimeout(timer);
  }
}

class OtelRequestSpan implements RequestSpan {
  readonly #tracer: OtelApiTracer;
  readonly #span: Span;
  readonly #context: Context;
  readonly #name: string;

  constructor(tracer: OtelApiTracer, span: Span, context: Context, name: string) {
    this.#tracer = tracer;
    this.#span = span;
    this.#context = context;
    this.#name = name;
  }

  startAttempt(start: AttemptStart): AttemptSpan {
    const options = { kind: SpanKind.CLIENT, attributes: attemptStartAttributes(start) };
    const span = this.#tracer.startSpan(`${start.operation} ${start.model}`, options, this.#context);
    return new OtelAttemptSpan(span, trace.setSpan(this.#context, span));
  }

  end(end: RequestEnd): void {
    const span = this.#span;
    if (span.isRecording()) {
      if (end.askedGroup !== undefined) span.updateName(`${this.#name} ${end.askedGroup}`);
      span.setAttributes(requestEndAttributes(end));
      // A caller's own mistake or departure is no error of the server, but an answer that broke is.
      const broke = end.error !== undefined && end.status < 400;
      if (end.status >= 500 || broke) span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }
}

class OtelAttemptSpan implements AttemptSpan {
  readonly headers: readonly string[];
  readonly #span: Span;
  readonly #startedAt: number;

  constructor(span: Span, context: Context) {
    this.#span = span;
    this.#startedAt = performance.now();
    const headers: string[] = [];
    PROPAGATOR.inject(context, headers, { set: (list, name, value) => list.push(name, value) });
    this.headers = headers;
  }

  sentTo(origin: string): void {
    if (this.#span.isRecording()) this.#span.setAttributes(serverAttributes(origin));
  }

  firstToken(): void {
    if (!this.#span.isRecording()) return;
    this.#span.setAttributes(firstTokenAttributes((performance.now() - this.#startedAt) / 1000));
  }

  end(end: AttemptSpanEnd): void {
    const span = this.#span;
    if (span.isRecording()) {
      span.setAttributes(attemptEndAttributes(end));
      if (end.error !== undefined && end.error !== CANCELLED) span.setStatus({ code: SpanStatusCode.ERROR });
    }
    span.end();
  }
}

/** The caller's span, where its headers name one. */
function parentOf(headers: readonly string[]): Context {
  let carrier: Record<string, string> | undefined;
  for (let at = 0; at + 1 < headers.length; at += 2) {
    const name = headers[at] as string;
    if (name !== "traceparent" && name !== "tracestate") continue;
    carrier ??= {};
    const before = carrier[name];
    carrier[name] = before === undefined ? (headers[at + 1] as string) : `${before},${headers[at + 1]}`;
  }
  return carrier === undefined
    ? ROOT_CONTEXT
    : PROPAGATOR.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter);
}
