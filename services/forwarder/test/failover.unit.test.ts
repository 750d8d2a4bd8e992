import { readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED, refuse } from "./fakes.ts";
import { createStage, ERROR_500, OK, SECRET } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const A = attempt("a/m");
const B = attempt("b/m", {}, "retryable");

describe("a request that fails over", () => {
  it("E3, H1: tells the router how it failed, tries the next, and names both", async () => {
    const stage = createStage(A, B);
    stage.ask();
    stage.upstream.at(0).answer(500, ERROR_500);
    expect(stage.decides[1]?.failed?.status).toBe(500);
    expect([...(stage.decides[1]?.continuation ?? [])]).toEqual([7]);
    stage.upstream.at(1).answer(200, OK);
    expect(stage.sink.head?.status).toBe(200);
    expect(stage.sink.attempts.map((one) => `${one.deployment} ${one.outcome}`)).toEqual([
      "a/m retryable",
      "b/m ok",
    ]);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=server_error", "b/m=ok"]);
    expect(await stage.inFlight()).toEqual([0, 0]);
  });

  it("E7: gives the last provider's real answer, with its headers that matter", async () => {
    const stage = createStage(A, B, EXHAUSTED);
    stage.ask();
    stage.upstream
      .at(0)
      .answer(429, '{"error":{"message":"slow down"}}', ["retry-after", "7", "x-should-retry", "false"]);
    stage.upstream.at(1).error("connect", "ECONNREFUSED");
    expect(stage.sink.head?.status).toBe(429);
    expect(stage.sink.header("retry-after")).toBe("7");
    expect(stage.sink.header("x-should-retry")).toBe("false");
    expect(stage.sink.body).toContain("slow down");
    expect(stage.sink.ends).toBe(1);
    await stage.close();
  });

  it("R10: a deployment that is not ready uses no attempt and renames none", async () => {
    const stage = createStage(A, attempt("c/m", {}, "retryable"), attempt("b/m", {}, "failed"));
    stage.ask();
    stage.upstream.at(0).answer(500, ERROR_500);
    stage.upstream.at(1).answer(200, OK);
    expect(stage.sink.attempts.map((one) => `${one.deployment} ${one.outcome}`)).toEqual([
      "a/m retryable",
      "b/m ok",
    ]);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=server_error", "b/m=ok"]);
  });

  it("invariant 7: a router that goes in circles is not followed for ever", () => {
    const stage = createStage(attempt("c/m"));
    stage.ask();
    expect(readFailure(stage.sink.failed).code).toBe("upstream_unavailable");
    expect(stage.decides.length).toBeLessThan(1_000);
    expect(vi.getTimerCount()).toBeLessThanOrEqual(2);
  });

  it("E2: waits before the attempt as the decision says", () => {
    const stage = createStage(attempt("a/m", { delayMs: 250n }));
    stage.ask();
    vi.advanceTimersByTime(249);
    expect(stage.upstream.exchanges).toHaveLength(0);
    vi.advanceTimersByTime(1);
    expect(stage.upstream.exchanges).toHaveLength(1);
  });

  it("E7: a redirect is no answer, and is not passed on", async () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    stage.upstream.at(0).answer(307, "", ["location", `http://elsewhere/?key=${SECRET}`]);
    expect(readFailure(stage.sink.failed)).toMatchObject({ status: 502, code: "upstream_invalid_response" });
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=invalid_response"]);
  });

  it("E7, P5: an error inside a choice moves on, and is told in the provider's words", async () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    const error = { message: "upstream slow", code: 429 };
    const choice = {
      index: 0,
      message: { role: "assistant", content: "par" },
      finish_reason: "error",
      error,
    };
    stage.upstream.at(0).answer(200, JSON.stringify({ choices: [choice] }));
    expect(stage.sink.head?.status).toBe(429);
    expect(JSON.parse(stage.sink.body)).toEqual({ error });
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=rate_limited"]);
  });

  it("E7: a status that HTTP does not have is no answer, and the attempts are told", async () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    stage.upstream.at(0).answer(999, '{"error":{"message":"no robots"}}');
    const failed = readFailure(stage.sink.failed);
    expect(failed).toMatchObject({ status: 502, code: "upstream_invalid_response" });
    expect(failed.metadata["attempts"]).toContain('"status":999');
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=invalid_response"]);
  });

  it.each([
    ["an empty 204", 204, ""],
    ["an empty 200", 200, ""],
    ["a 200 that is no JSON", 200, "<html>"],
    ["a 200 without choices", 200, '{"object":"chat.completion"}'],
  ])("section 5: %s is invalid_response and moves on", (_name, status, body) => {
    const stage = createStage(A, B);
    stage.ask();
    stage.upstream.at(0).answer(status, body);
    stage.upstream.at(1).answer(200, OK);
    expect(stage.sink.attempts[0]?.error).toBe("invalid_response");
    expect(stage.sink.body).toBe(OK);
  });

  it("section 5: a 200 that is an error takes its class, of a stream too", () => {
    for (const stream of [false, true]) {
      const stage = createStage(A, EXHAUSTED);
      stage.ask({ stream });
      stage.upstream
        .at(0)
        .answer(200, '{"error":{"message":"busy","type":"overloaded_error"}}', [
          "content-type",
          "text/plain",
        ]);
      expect(stage.sink.head?.status).toBe(503);
      expect(stage.sink.attempts[0]?.error).toBe("overloaded");
    }
  });

  it("section 5: a stream that nobody asked for is invalid_response, at once", () => {
    const stage = createStage(A, B);
    stage.ask();
    stage.upstream.at(0).stream();
    expect(stage.upstream.at(0).aborted).toBe(true);
    stage.upstream.at(1).answer(200, OK);
    expect(stage.sink.attempts[0]?.error).toBe("invalid_response");
  });

  it("P1: an answer without content type, or in JSON to a stream request, passes as it is", () => {
    for (const stream of [false, true]) {
      const stage = createStage(A);
      stage.ask({ stream });
      stage.upstream.at(0).answer(200, OK, []);
      expect(stage.sink.body).toBe(OK);
      expect(stage.sink.ends).toBe(1);
    }
  });

  it("E7: takes as much of an endless error as tells what it is", () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    stage.upstream.at(0).head(500);
    for (let sent = 0; sent < 10; sent += 1) stage.upstream.at(0).data("x".repeat(64 * 1024));
    expect(stage.upstream.at(0).aborted).toBe(true);
    expect(stage.sink.head?.status).toBe(500);
  });

  it("E5: an error that comes drop by drop is taken as far as it got", () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    stage.upstream.at(0).head(503).data('{"error":');
    vi.advanceTimersByTime(10_000);
    expect(stage.upstream.at(0).aborted).toBe(true);
    expect(stage.sink.head?.status).toBe(503);
    expect(stage.sink.attempts[0]?.error).toBe("overloaded");
  });

  it("E7: an error whose body is cut is still the provider's answer", () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask();
    stage.upstream.at(0).head(500).data('{"error":{"mess').error("body", "ECONNRESET");
    expect(stage.sink.head?.status).toBe(500);
  });

  it("E5: timeout_covers_body ends an answer that drips, and so the next is tried", () => {
    const stage = createStage(attempt("a/m", { timeoutMs: 1_000n, timeoutCoversBody: true }), B);
    stage.ask();
    stage.upstream.at(0).head(200).data("{");
    vi.advanceTimersByTime(1_000);
    expect(stage.upstream.at(0).aborted).toBe(true);
    stage.upstream.at(1).answer(200, OK);
    expect(stage.sink.attempts[0]).toMatchObject({ outcome: "retryable", error: "timeout" });
  });

  it("P1: more than 8 MiB pass on unheld; a cut of it is not tried again", async () => {
    const stage = createStage(attempt("a/m", { timeoutMs: 1_000n, timeoutCoversBody: true }), B);
    stage.ask();
    stage.upstream
      .at(0)
      .head(200)
      .data(new Uint8Array(9 * 1024 * 1024).fill(32));
    expect(stage.sink.head?.status).toBe(200);
    stage.upstream.at(0).error("body");
    expect(readFailure(stage.sink.failed).code).toBe("upstream_invalid_response");
    expect(stage.decides).toHaveLength(1);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=invalid_response"]);
  });

  it("E5: timeout_covers_body runs on over an answer that passes unheld", () => {
    const stage = createStage(attempt("a/m", { timeoutMs: 1_000n, timeoutCoversBody: true }));
    stage.ask();
    stage.upstream
      .at(0)
      .head(200)
      .data(new Uint8Array(9 * 1024 * 1024).fill(32));
    vi.advanceTimersByTime(1_000);
    expect(stage.upstream.at(0).aborted).toBe(true);
    expect(stage.sink.failed).toBeDefined();
  });

  it("invariant 4: a header that can't be sent is the caller's mistake, and benches nobody", async () => {
    const stage = createStage(A, EXHAUSTED);
    stage.ask({ headers: { "x-odd": "a\r\nb: c" } });
    stage.upstream.at(0).error("send", "INVALID_REQUEST");
    expect(stage.sink.head?.status).toBe(400);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=invalid_request"]);
  });

  it("H2: names the group that served, in ASCII", () => {
    const stage = createStage(attempt("a/m", { group: "запас", fallbackKind: "general" }));
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    expect(decodeURIComponent(stage.sink.header("x-ants-model-group") ?? "")).toBe("запас");
    expect(stage.sink.header("x-ants-model-group")).toMatch(/^[\x20-\x7e]+$/);
  });
});

describe("a router that is in trouble", () => {
  const never = () => new Promise<never>(() => {});
  const down = () => Promise.reject(new Error("socket"));

  it("at first: 503, whether it fails or hangs", async () => {
    for (const script of [down, never]) {
      const stage = createStage(script);
      stage.ask();
      await vi.advanceTimersByTimeAsync(10_000);
      expect(readFailure(stage.sink.failed)).toMatchObject({ status: 503, code: "upstream_unavailable" });
    }
  });

  it("E7: after a failed attempt the caller gets what the provider answered", async () => {
    for (const script of [down, never]) {
      const stage = createStage(A, script);
      stage.ask();
      stage.upstream.at(0).answer(500, ERROR_500);
      await vi.advanceTimersByTimeAsync(10_000);
      expect(stage.sink.head?.status).toBe(500);
      expect(stage.sink.attempts).toHaveLength(1);
    }
  });

  it("E7: after attempts without an answer it is 504 or 502, with the attempts", async () => {
    for (const [phase, status] of [
      ["headers_timeout", 504],
      ["connect", 502],
    ] as const) {
      const stage = createStage(A, down);
      stage.ask();
      stage.upstream.at(0).error(phase);
      await vi.advanceTimersByTimeAsync(0);
      const failed = readFailure(stage.sink.failed);
      expect(failed.status).toBe(status);
      expect(failed.metadata["attempts"]).toContain("a/m");
    }
  });

  it("a decision that comes too late is not acted on", async () => {
    let answer: ((value: never) => void) | undefined;
    const stage = createStage(() => new Promise((resolve) => (answer = resolve as typeof answer)));
    stage.ask();
    await vi.advanceTimersByTimeAsync(10_000);
    answer?.(A(stage.decides[0] as never) as never);
    await vi.advanceTimersByTimeAsync(0);
    expect(stage.upstream.exchanges).toHaveLength(0);
    expect(stage.sink.late).toBe(0);
  });

  it("H1: a refusal after attempts tells of them", () => {
    const stage = createStage(A, refuse(504, "upstream_timeout", { lastOutcome: "timeout" }));
    stage.ask();
    stage.upstream.at(0).error("headers_timeout");
    const attempts = readFailure(stage.sink.failed).metadata["attempts"] ?? "[]";
    expect(JSON.parse(attempts)).toMatchObject([{ deployment: "a/m", outcome: "timeout" }]);
  });

  it("a refusal is passed on with its code", () => {
    const stage = createStage(refuse(403, "model_not_allowed"));
    stage.ask();
    expect(readFailure(stage.sink.failed)).toMatchObject({ status: 403, code: "model_not_allowed" });
  });
});
