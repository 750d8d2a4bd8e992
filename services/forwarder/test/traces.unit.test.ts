import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED, refuse } from "./fakes.ts";
import {
  createStage,
  DONE,
  ERROR_500,
  ERROR_EVENT,
  FINISH,
  OK,
  PROMPT,
  ROLE,
  SECRET,
  token,
} from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const A = attempt("a/m");
const B = attempt("b/m", {}, "retryable");

describe("the trace of a request", () => {
  it("H1, H4: names strategy, deployments, who called and every attempt", async () => {
    const stage = createStage(A, B);
    stage.ask();
    stage.upstream.at(0).answer(500, ERROR_500);
    stage.upstream.at(1).answer(200, OK);
    const { request, end } = stage.tracer;
    expect(request.start).toMatchObject({
      method: "POST",
      route: "/v1/chat/completions",
      operation: "chat",
      requestId: "req_1",
    });
    expect(end).toMatchObject({
      status: 200,
      error: undefined,
      refusal: undefined,
      askedGroup: "g",
      group: "g",
      strategy: "weighted",
      deployment: "b/m",
      next: "b/m",
      configRevision: 3,
      key: "key-name",
      team: "team-name",
      model: "m-1",
    });
    expect(JSON.parse(end.attempts)).toEqual([
      { deployment: "a/m", outcome: "retryable", ms: 0, status: 500, error: "server_error" },
      { deployment: "b/m", outcome: "ok", ms: 0, status: 200 },
    ]);
    expect(request.attempts.map(({ start, origin, ends }) => ({ ...start, origin, ends }))).toMatchObject([
      {
        deployment: "a/m",
        family: "openai_compatible",
        model: "m",
        resends: 0,
        step: "pick",
        origin: "http://127.0.0.1:1",
        ends: [{ status: 500, error: "server_error", usage: undefined }],
      },
      {
        deployment: "b/m",
        resends: 1,
        origin: "http://127.0.0.1:2",
        ends: [{ status: 200, error: undefined, model: "m-1", usage: { input: 3, output: 7 } }],
      },
    ]);
    await stage.close();
  });

  it("goes on at the provider: each attempt carries its own span, not the caller's", async () => {
    const stage = createStage(A, B);
    stage.ask({ headers: { traceparent: "the-callers", tracestate: "the-callers", baggage: "k=v" } });
    stage.upstream.at(0).answer(500, ERROR_500);
    const [first, second] = stage.upstream.exchanges.map(({ request }) => request.headers.join(" "));
    expect(first).toContain("traceparent span-of-attempt-0");
    expect(second).toContain("traceparent span-of-attempt-1");
    for (const headers of [first, second]) {
      expect(headers).not.toContain("the-callers");
      expect(headers).toContain("baggage k=v");
    }
    expect(stage.tracer.request.start.headers).toContain("the-callers");
    stage.upstream.at(1).answer(200, OK);
    await stage.close();
  });

  it("passes the caller's span on untouched where tracing is off", async () => {
    const stage = createStage.untraced(A);
    stage.ask({ headers: { traceparent: "the-callers", tracestate: "state" } });
    expect(stage.upstream.at(0).request.headers.join(" ")).toContain(
      "traceparent the-callers tracestate state",
    );
    stage.upstream.at(0).answer(200, OK);
    expect(stage.tracer.requests).toEqual([]);
    await stage.close();
  });

  it("E7: says all_deployments_failed, where a provider's answer is given and where none can be", async () => {
    const answered = createStage(A, EXHAUSTED);
    answered.ask();
    answered.upstream.at(0).answer(500, ERROR_500);
    expect(answered.tracer.end).toMatchObject({
      status: 500,
      error: "server_error",
      refusal: "all_deployments_failed",
    });
    await answered.close();

    const silent = createStage(A, EXHAUSTED);
    silent.ask();
    silent.upstream.at(0).error("connect");
    expect(silent.tracer.end).toMatchObject({
      status: 502,
      error: "upstream_unreachable",
      refusal: "all_deployments_failed",
    });
    await silent.close();

    const undecided = createStage(A, () => Promise.reject(new Error("gone")));
    undecided.ask();
    undecided.upstream.at(0).error("headers_timeout");
    await vi.advanceTimersByTimeAsync(1);
    expect(undecided.tracer.end).toMatchObject({ status: 504, refusal: "all_deployments_failed" });
    await undecided.close();
  });

  it("E1: a mistake that is the caller's to mend is no failure of all deployments", async () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    stage.upstream.at(0).answer(400, '{"error":{"message":"bad","type":"invalid_request_error"}}');
    expect(stage.tracer.end).toMatchObject({ status: 400, error: "invalid_request", refusal: undefined });
    await stage.close();
  });

  it("names a refusal by its code, with no attempt to tell of", async () => {
    const stage = createStage(refuse(429, "rate_limit_exceeded"));
    stage.ask();
    expect(stage.tracer.end).toMatchObject({
      status: 429,
      error: "rate_limit_exceeded",
      refusal: "rate_limit_exceeded",
      attempts: "",
      askedGroup: undefined,
      deployment: undefined,
    });
    await stage.close();
  });

  it("tells of a request that was refused before it ran, but not what it said", async () => {
    const stage = createStage(A);
    stage.ask({ path: "/v1/the-callers-own-text" });
    stage.ask({ body: "the-callers-own-text" });
    const told = stage.tracer.requests.map(({ ends }) => `${ends[0]?.status} ${ends[0]?.refusal}`);
    expect(told).toEqual(["404 not_found", "400 invalid_json"]);
    expect(JSON.stringify(stage.tracer.requests)).not.toContain("the-callers-own-text");
    await stage.close();
  });

  it("names a call about a stored response without its id", async () => {
    const stage = createStage(A);
    stage.ask({ method: "GET", path: "/v1/responses/resp_of_the_caller/input_items", body: "" });
    await vi.advanceTimersByTimeAsync(1);
    expect(stage.tracer.request.start).toMatchObject({
      operation: "stored_response",
      route: "/v1/responses/{id}/input_items",
    });
    stage.call.cancel();
    await stage.close();
  });

  it("H4: names what the affinity key was made of", async () => {
    const stage = createStage(attempt("a/m", { affinity: "conversation" }));
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    expect(stage.tracer.end.affinity).toBe("conversation");
    await stage.close();
  });

  it("G2: names how the request came to another group", async () => {
    const stage = createStage(A, attempt("b/m", { group: "big", fallbackKind: "context" }, "failed"));
    stage.ask();
    stage.upstream.at(0).answer(400, '{"error":{"message":"too long","code":"context_length_exceeded"}}');
    stage.upstream.at(1).answer(200, OK);
    expect(stage.tracer.end).toMatchObject({ askedGroup: "g", group: "big", fallbackKind: "context" });
    expect(stage.tracer.request.attempts.map(({ start }) => start.fallbackKind)).toEqual(["", "context"]);
    await stage.close();
  });

  it("marks a stream's first useful token, once, and one that broke after it", async () => {
    const stage = createStage(A);
    stage.ask({ stream: true });
    const exchange = stage.upstream.at(0).stream().data(ROLE);
    expect(stage.tracer.request.attempts[0]?.firstTokens).toBe(0);
    exchange.data(token("hel")).data(token("lo"));
    expect(stage.tracer.request.attempts[0]?.firstTokens).toBe(1);
    exchange.data(ERROR_EVENT);
    expect(stage.tracer.end).toMatchObject({ status: 200, error: "overloaded", refusal: undefined });
    expect(stage.tracer.request.attempts[0]?.ends).toMatchObject([{ error: "overloaded" }]);
    await stage.close();
  });

  it("ends when the caller leaves, its attempt before it, both unjudged", async () => {
    const stage = createStage(A);
    stage.ask();
    stage.call.cancel();
    const { request, end } = stage.tracer;
    expect(end).toMatchObject({ status: 499, error: "client_closed" });
    expect(request.attempts[0]?.ends).toMatchObject([{ error: "cancelled", status: undefined }]);
    expect(request.openAtEnd).toBe(0);
    await stage.close();
  });

  it("H2: has a stream's cost, which no header can", async () => {
    const price = { $typeName: "switchyard.config.v1.Price", input: 1, output: 2 } as const;
    const stage = createStage(attempt("a/m", { price }));
    stage.ask({ stream: true });
    const usage =
      'data: {"id":"c1","choices":[],"usage":{"prompt_tokens":1000000,"completion_tokens":500000}}\n\n';
    stage.upstream.at(0).stream().data(token("hi")).data(FINISH).data(usage).data(DONE).end();
    expect(stage.tracer.end.costUsd).toBe(2);
    await stage.close();
  });

  it("invariant 9: holds no prompt, completion, key or secret, also where a provider quotes them", async () => {
    const stage = createStage(A, B, EXHAUSTED);
    stage.ask({ headers: { "x-session-id": "the-affinity-key" } });
    const said = `can't answer "${PROMPT}" for ${SECRET}`;
    stage.upstream.at(0).answer(500, JSON.stringify({ error: { message: said } }));
    stage.upstream.at(1).answer(500, JSON.stringify({ error: { message: said } }));
    expect(stage.sink.header("x-ants-attempts")).toContain(PROMPT);
    const { ends, attempts } = stage.tracer.request;
    const traced = JSON.stringify([ends, attempts]);
    for (const word of [PROMPT, SECRET, "the-affinity-key", "ck-caller-key"])
      expect(traced).not.toContain(word);
    await stage.close();
  });
});
