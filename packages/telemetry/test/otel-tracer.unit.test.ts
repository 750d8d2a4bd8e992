import { SpanKind, SpanStatusCode } from "@opentelemetry/api";
import {
  AlwaysOnSampler,
  InMemorySpanExporter,
  ParentBasedSampler,
  SimpleSpanProcessor,
  TracerProvider,
} from "@opentelemetry/sdk-trace";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import { describe, expect, it } from "vitest";
import type { AttemptStart, RequestEnd, RequestStart } from "../src/index.ts";
import { OtelTracer } from "../src/tracing/otel-tracer.ts";

const TRACE = "0af7651916cd43dd8448eb211c80319c";
const CALLER = "b7ad6b7169203331";

const START: RequestStart = {
  headers: [],
  method: "POST",
  route: "/v1/chat/completions",
  operation: "chat",
  stream: true,
  requestId: "req_1",
};
const ATTEMPT: AttemptStart = {
  operation: "chat",
  family: "azure_openai",
  model: "gpt-x",
  stream: true,
  deployment: "az/gpt-x",
  group: "smart",
  step: "pick",
  fallbackKind: "",
  resends: 0,
};
const END: RequestEnd = {
  status: 200,
  error: undefined,
  refusal: undefined,
  askedGroup: "smart",
  group: "smart",
  fallbackKind: "",
  strategy: "weighted",
  affinity: "session",
  deployment: "az/gpt-x",
  next: "oa/gpt-x",
  attempts: "[]",
  configRevision: 7,
  key: "ci",
  team: "",
  model: "gpt-x-2",
  costUsd: 0.0125,
};

function setUp() {
  const exporter = new InMemorySpanExporter();
  const provider = new TracerProvider({
    sampler: new ParentBasedSampler({ root: new AlwaysOnSampler() }),
    spanProcessors: [new SimpleSpanProcessor({ exporter })],
  });
  const tracer = new OtelTracer(provider, "0");
  const spans = (): ReadableSpan[] => exporter.getFinishedSpans();
  return { tracer, spans };
}

describe("OtelTracer", () => {
  it("makes a server span of a request, the caller's child, and a client span of each attempt", () => {
    const { tracer, spans } = setUp();
    const headers = ["traceparent", `00-${TRACE}-${CALLER}-01`, "tracestate", "vendor=1"];
    const request = tracer.startRequest({ ...START, headers });
    const attempt = request.startAttempt(ATTEMPT);
    attempt.end({ status: 503, error: "overloaded", model: undefined, usage: undefined });
    request.end(END);
    const [client, server] = spans() as [ReadableSpan, ReadableSpan];
    expect([server.name, server.kind]).toEqual(["chat smart", SpanKind.SERVER]);
    expect([client.name, client.kind]).toEqual(["chat gpt-x", SpanKind.CLIENT]);
    expect(server.parentSpanContext).toMatchObject({ traceId: TRACE, spanId: CALLER, isRemote: true });
    expect(client.parentSpanContext?.spanId).toBe(server.spanContext().spanId);
    expect(attempt.headers).toEqual([
      "traceparent",
      `00-${TRACE}-${client.spanContext().spanId}-01`,
      "tracestate",
      "vendor=1",
    ]);
  });

  it("H1, H2, H4: tells what the request was and who decided what; what is empty is left out", () => {
    const { tracer, spans } = setUp();
    tracer.startRequest(START).end(END);
    expect(spans()[0]?.attributes).toEqual({
      "http.request.method": "POST",
      "http.route": "/v1/chat/completions",
      "http.response.status_code": 200,
      "gen_ai.operation.name": "chat",
      "gen_ai.request.model": "smart",
      "gen_ai.request.stream": true,
      "gen_ai.response.model": "gpt-x-2",
      "switchyard.request.id": "req_1",
      "switchyard.route.group": "smart",
      "switchyard.route.strategy": "weighted",
      "switchyard.route.affinity": "session",
      "switchyard.route.deployment": "az/gpt-x",
      "switchyard.route.next": "oa/gpt-x",
      "switchyard.route.attempts": "[]",
      "switchyard.route.config_revision": 7,
      "switchyard.key": "ci",
      "switchyard.cost_usd": 0.0125,
    });
  });

  it("tells of an attempt by the GenAI conventions", () => {
    const { tracer, spans } = setUp();
    const attempt = tracer
      .startRequest(START)
      .startAttempt({ ...ATTEMPT, resends: 2, fallbackKind: "context" });
    attempt.sentTo("https://[::1]");
    attempt.firstToken();
    const usage = { input: 10, output: 20, cached: 4, reasoning: 0, cacheWritten: 3 };
    attempt.end({ status: 200, error: undefined, model: "gpt-x-2", usage });
    const [span] = spans();
    expect(span?.attributes).toEqual({
      "gen_ai.operation.name": "chat",
      "gen_ai.provider.name": "azure.ai.openai",
      "gen_ai.request.model": "gpt-x",
      "gen_ai.request.stream": true,
      "gen_ai.response.model": "gpt-x-2",
      "gen_ai.response.time_to_first_chunk": expect.closeTo(0, 0),
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 20,
      "gen_ai.usage.cache_read.input_tokens": 4,
      "gen_ai.usage.cache_creation.input_tokens": 3,
      "server.address": "::1",
      "server.port": 443,
      "http.request.resend_count": 2,
      "http.response.status_code": 200,
      "gateway.fallback_kind": "context",
      "switchyard.route.group": "smart",
      "switchyard.route.deployment": "az/gpt-x",
      "switchyard.route.step": "pick",
    });
    expect(span?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it("tells each kind of token that an answer used, of none the name", () => {
    const { tracer, spans } = setUp();
    const attempt = tracer.startRequest(START).startAttempt(ATTEMPT);
    const parts = { cached: 1, cacheWritten: 2, audioInput: 3, reasoning: 4, audioOutput: 5 };
    attempt.end({ status: 200, error: undefined, model: "m", usage: { input: 10, output: 20, ...parts } });
    const told = Object.entries(spans()[0]?.attributes ?? {}).filter(([name]) => name.includes(".usage."));
    expect(Object.fromEntries(told)).toEqual({
      "gen_ai.usage.input_tokens": 10,
      "gen_ai.usage.output_tokens": 20,
      "gen_ai.usage.cache_read.input_tokens": 1,
      "gen_ai.usage.cache_creation.input_tokens": 2,
      "gen_ai.usage.reasoning.output_tokens": 4,
      "switchyard.usage.audio.input_tokens": 3,
      "switchyard.usage.audio.output_tokens": 5,
    });
  });

  it.each([
    ["overloaded", SpanStatusCode.ERROR],
    ["cancelled", SpanStatusCode.UNSET],
  ])("an attempt that ended %s has status %i", (error, code) => {
    const { tracer, spans } = setUp();
    const attempt = tracer.startRequest(START).startAttempt(ATTEMPT);
    attempt.end({ status: undefined, error, model: undefined, usage: undefined });
    expect(spans()[0]?.attributes["error.type"]).toBe(error);
    expect(spans()[0]?.status.code).toBe(code);
  });

  it.each([
    [502, "upstream_unreachable", SpanStatusCode.ERROR],
    [200, "stream_error", SpanStatusCode.ERROR],
    [429, "rate_limit_exceeded", SpanStatusCode.UNSET],
    [499, "client_closed", SpanStatusCode.UNSET],
  ])("a request that ended %i %s has status %i", (status, error, code) => {
    const { tracer, spans } = setUp();
    tracer.startRequest(START).end({ ...END, status, error, refusal: error });
    expect(spans()[0]?.attributes).toMatchObject({ "error.type": error, "gateway.refusal": error });
    expect(spans()[0]?.status.code).toBe(code);
  });

  it("follows a caller who does not sample: nothing is exported, its trace goes on", () => {
    const { tracer, spans } = setUp();
    const headers = ["traceparent", `00-${TRACE}-${CALLER}-00`];
    const request = tracer.startRequest({ ...START, headers });
    const attempt = request.startAttempt(ATTEMPT);
    expect(attempt.headers[1]).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-00$`));
    attempt.sentTo("http://127.0.0.1:1");
    attempt.firstToken();
    attempt.end({ status: 200, error: undefined, model: undefined, usage: undefined });
    request.end(END);
    expect(spans()).toEqual([]);
  });

  it.each([["00-zz"], [`00-${TRACE}-${CALLER}-01,00-${TRACE}-${CALLER}-01`], ["'; drop"]])(
    "starts a trace of its own where the caller's is none: %s",
    (traceparent) => {
      const { tracer, spans } = setUp();
      tracer.startRequest({ ...START, headers: ["traceparent", traceparent, "tracestate", "x=y"] }).end(END);
      expect(spans()[0]?.parentSpanContext).toBeUndefined();
    },
  );

  it("repeats no method that is only text of the caller's", () => {
    const { tracer, spans } = setUp();
    const nothing = { route: undefined, operation: undefined, stream: false };
    tracer.startRequest({ ...START, ...nothing, method: "SECRET" }).end({ ...END, askedGroup: undefined });
    expect(spans()[0]?.name).toBe("refused");
    expect(spans()[0]?.attributes["http.request.method"]).toBe("_OTHER");
  });
});
