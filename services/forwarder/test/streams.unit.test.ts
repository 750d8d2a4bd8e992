import { readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED } from "./fakes.ts";
import { createStage, DONE, ERROR_EVENT, FINISH, OK, ROLE, token, USAGE } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const A = attempt("a/m");
const B = attempt("b/m", {}, "failed");

describe("a stream before it commits", () => {
  it("E6: holds what is no token, and fails over from an error after it", () => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(": ping\n\n").data(ROLE).data(ERROR_EVENT);
    expect(stage.sink.head).toBeUndefined();
    stage.upstream
      .at(1)
      .stream()
      .data(ROLE + token("hi"))
      .data(FINISH + DONE)
      .end();
    expect(stage.sink.body).toBe(ROLE + token("hi") + FINISH + DONE);
    expect(stage.sink.ends).toBe(1);
  });

  it("E6: an error does not commit a stream by filling its gate", () => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    stage.upstream
      .at(0)
      .stream()
      .data(`: ${"x".repeat(70_000)}\n\n${ERROR_EVENT}`);
    expect(stage.sink.head).toBeUndefined();
    expect(stage.upstream.exchanges).toHaveLength(2);
  });

  it.each([
    ["[DONE] alone", DONE, "invalid_response"],
    ["nothing at all", "", "stream_error"],
    ["a role and no more", ROLE, "stream_error"],
  ])("E6: %s is a failure", (_name, text, error) => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(text).end();
    stage.upstream
      .at(1)
      .stream()
      .data(token("x") + FINISH + DONE)
      .end();
    expect(stage.sink.attempts[0]?.error).toBe(error);
  });

  it("E6: the gate holds 64 KiB, then what is held is sent", () => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    const comment = `: ${"x".repeat(33_000)}\n\n`;
    stage.upstream.at(0).stream().data(comment);
    expect(stage.sink.head).toBeUndefined();
    stage.upstream.at(0).data(comment);
    expect(stage.sink.body).toBe(comment + comment);
    stage.upstream.at(0).end();
    expect(readFailure(stage.sink.failed).status).toBe(502);
    expect(stage.upstream.exchanges).toHaveLength(1);
  });

  it("E6: the gate holds 30 s, then what is held is sent", () => {
    const stage = createStage(A);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(ROLE);
    vi.advanceTimersByTime(29_999);
    expect(stage.sink.head).toBeUndefined();
    vi.advanceTimersByTime(1);
    expect(stage.sink.body).toBe(ROLE);
  });

  it("E5: each attempt has its own time to the first token; one that has it is not cut", () => {
    const order = { firstTokenTimeoutMs: 2_000n };
    const stage = createStage(attempt("a/m", order), attempt("b/m", order, "timeout"));
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(ROLE);
    vi.advanceTimersByTime(2_000);
    expect(stage.upstream.at(0).aborted).toBe(true);
    vi.advanceTimersByTime(1_999);
    stage.upstream.at(1).stream().data(token("x"));
    vi.advanceTimersByTime(60_000);
    expect(stage.upstream.at(1).aborted).toBe(false);
    expect(stage.sink.attempts.map((one) => one.outcome)).toEqual(["timeout", "ok"]);
  });

  it("E5: a slow error is the provider's error, not a missing token", () => {
    const stage = createStage(attempt("a/m", { firstTokenTimeoutMs: 2_000n }), EXHAUSTED);
    stage.ask({ stream: true });
    stage.upstream.at(0).head(429);
    vi.advanceTimersByTime(3_000);
    stage.upstream.at(0).data('{"error":{"message":"slow down"}}').end();
    expect(stage.sink.head?.status).toBe(429);
  });
});

describe("a stream that does not say that it is one", () => {
  it.each([[[]], [["content-type", "text/plain"]], [["content-type", "application/json"]]])(
    "E6, invariant 6: is followed as one all the same, %j",
    (headers) => {
      const stage = createStage(A, B);
      stage.ask({ stream: true });
      stage.upstream.at(0).head(200, headers).data(ROLE).data(ERROR_EVENT);
      stage.upstream
        .at(1)
        .head(200, headers)
        .data("da")
        .data(`${ROLE.slice(2)}${token("x")}`);
      expect(stage.sink.header("content-type")).toBe("text/event-stream");
      expect(stage.sink.body).toBe(ROLE + token("x"));
      stage.upstream
        .at(1)
        .data(FINISH + DONE)
        .end();
      expect(stage.sink.ends).toBe(1);
    },
  );
});

describe("a stream that has committed", () => {
  it("invariant 5: breaks with an error and is not sent again", async () => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(token("x")).error("body", "ECONNRESET");
    expect(readFailure(stage.sink.failed).status).toBe(502);
    expect(stage.decides).toHaveLength(1);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=stream_error"]);
    expect(await stage.inFlight()).toEqual([0]);
  });

  it("P5: ends with the provider's own error event", () => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(token("x")).data(ERROR_EVENT);
    expect(stage.upstream.at(0).aborted).toBe(true);
    expect(stage.sink.body).toContain("busy now");
    expect(stage.sink.ends).toBe(1);
  });

  it("is whole once it said so, however the connection ends", async () => {
    const stage = createStage(A);
    stage.ask({ stream: true });
    stage.upstream
      .at(0)
      .stream()
      .data(token("x") + FINISH + DONE)
      .error("body", "ECONNRESET");
    expect(stage.sink.ends).toBe(1);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=ok"]);
  });

  it("H2: tells its cost in the trailer and takes out the usage nobody asked for", async () => {
    const price = { $typeName: "switchyard.config.v1.Price", input: 0.1, output: 0.2 } as const;
    const stage = createStage(attempt("a/m", { price }));
    stage.ask({ stream: true });
    stage.upstream
      .at(0)
      .stream()
      .data(token("x") + FINISH + USAGE + DONE)
      .end();
    expect(stage.sink.body).toBe(token("x") + FINISH + DONE);
    expect(stage.sink.header("x-ants-cost")).toBeUndefined();
    expect(stage.sink.trailer?.costUsd).toBe(0.000_000_3);
    await stage.close();
    expect(stage.published.usage).toHaveLength(1);
  });

  it("invariant 6: a full caller pauses the provider, room resumes it", () => {
    const stage = createStage(A, B);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(ROLE);
    stage.sink.drain();
    stage.upstream.at(0).error("body");
    const exchange = stage.upstream.at(1).stream();
    stage.sink.full = true;
    exchange.data(ROLE);
    expect(exchange.paused).toBe(false);
    exchange.data(token("x"));
    expect(exchange.paused).toBe(true);
    stage.sink.drain();
    expect(exchange.paused).toBe(false);
    stage.sink.full = true;
    exchange.data(token("y"));
    expect(exchange.paused).toBe(true);
  });

  it("leaves no timer and no listener behind", async () => {
    const stage = createStage(attempt("a/m", { firstTokenTimeoutMs: 2_000n }));
    const off = vi.spyOn(stage.call, "offCancel");
    stage.ask({ stream: true });
    stage.upstream
      .at(0)
      .stream()
      .data(token("x") + FINISH + DONE)
      .end();
    expect(off).toHaveBeenCalledTimes(1);
    await stage.close();
    expect(vi.getTimerCount()).toBe(0);
    stage.call.cancel();
    expect(stage.sink.late).toBe(0);
  });
});

describe("a fault of our own", () => {
  it("invariant 3: ends the attempt and the request, judges nobody and repeats no text", async () => {
    const stage = createStage(A, B);
    vi.spyOn(stage.sink, "send").mockImplementation(() => {
      throw new SyntaxError("Unexpected token in the-prompt-of-the-caller");
    });
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    expect(readFailure(stage.sink.failed).code).toBe("internal_error");
    await stage.close();
    expect(stage.published.outcomes).toEqual(["a/m=cancelled"]);
    expect(await stage.inFlight()).toEqual([0]);
    expect(JSON.stringify(stage.logger.lines)).not.toContain("the-prompt");
    expect(stage.logger.of("internal error")).toHaveLength(1);
  });

  it("in a timer brings nobody down", () => {
    const stage = createStage(A);
    stage.ask({ stream: true });
    stage.upstream.at(0).stream().data(ROLE);
    vi.spyOn(stage.sink, "send").mockImplementation(() => {
      throw new RangeError("no");
    });
    vi.advanceTimersByTime(30_000);
    expect(stage.sink.failed).toBeDefined();
    expect(stage.upstream.at(0).aborted).toBe(true);
  });
});
