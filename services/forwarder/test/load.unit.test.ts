import { afterEach, describe, expect, it, vi } from "vitest";
import type { LoadReport } from "@switchyard/proto/events/v1/events";
import { attempt, EXHAUSTED, refuse } from "./fakes.ts";
import { createStage, DONE, ERROR_500, FINISH, OK, ROLE, token, USAGE } from "./stage.ts";
import type { Stage } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** The report that comes next, as `load=inFlight`. */
function nextReport(stage: Stage): LoadReport | undefined {
  const before = stage.published.loads.length;
  vi.advanceTimersByTime(100);
  return stage.published.loads[before];
}

function inFlightOf(report: LoadReport | undefined): Record<string, number> {
  return Object.fromEntries((report?.deployments ?? []).map(({ load, inFlight }) => [load, inFlight]));
}

describe("load", () => {
  it("S3: a call counts from its decision on, whole answers are measured to their headers", async () => {
    const stage = createStage(attempt("a/m", { delayMs: 30n }));
    stage.ask();
    vi.advanceTimersByTime(10);
    const during = nextReport(stage);
    expect(inFlightOf(during)).toEqual({ "m:a/m": 1 });
    expect(during?.deployments[0]?.tokens).toBeGreaterThan(1_000n);
    stage.upstream.at(0).head(200);
    vi.advanceTimersByTime(40);
    stage.upstream.at(0).data(OK).end();
    const after = nextReport(stage);
    expect(after).toMatchObject({
      reporter: during?.reporter,
      deployments: [{ inFlight: 0, requests: 1n, tokens: 10n, measured: 1, firstTokenMs: 80, streamedMs: 0 }],
    });
    expect(nextReport(stage)).toBeUndefined();
    expect(stage.decides[0]?.reporter).toBe(during?.reporter);
    await stage.close();
    expect(stage.published.loads.at(-1)).toMatchObject({ reporter: during?.reporter, leaving: true });
  });

  it("S3: a stream is measured to its first token, and each further token by itself", async () => {
    const stage = createStage(attempt("a/m"));
    stage.ask({ stream: true });
    const exchange = stage.upstream.at(0);
    vi.advanceTimersByTime(20);
    exchange.stream().data(ROLE);
    vi.advanceTimersByTime(20);
    exchange.data(token("x"));
    vi.advanceTimersByTime(30);
    const usage = USAGE.replace(
      '"completion_tokens":1,"total_tokens":2',
      '"completion_tokens":4,"total_tokens":5',
    );
    exchange.data(FINISH + usage + DONE).end();
    expect(nextReport(stage)?.deployments).toMatchObject([
      { measured: 1, firstTokenMs: 40, streamedTokens: 3n, streamedMs: 30 },
    ]);
    await stage.close();
  });

  it("BH-10: what fails is never measured", async () => {
    const stage = createStage(attempt("a/m"), attempt("b/m"));
    stage.ask();
    vi.advanceTimersByTime(5);
    stage.upstream.at(0).answer(500, ERROR_500);
    stage.upstream.at(1).error("connect");
    expect(nextReport(stage)?.deployments).toMatchObject([
      { load: "m:a/m", measured: 0, firstTokenMs: 0, tokens: 0n },
      { load: "m:b/m", measured: 0 },
    ]);
    await stage.close();
  });

  it.each<[string, (stage: Stage) => void]>([
    ["is cancelled before it begins", ({ call }) => call.cancel()],
    [
      "is cancelled while it streams",
      ({ upstream, call }) => {
        vi.advanceTimersByTime(50);
        upstream.at(0).stream().data(token("x"));
        call.cancel();
      },
    ],
    [
      "breaks after it began to serve",
      ({ upstream }) => {
        vi.advanceTimersByTime(50);
        upstream.at(0).stream().data(token("x")).error("body");
      },
    ],
  ])("invariant 3, BH-09: a call that %s is in flight no more", async (_, happens) => {
    const stage = createStage(attempt("a/m", { delayMs: 50n }), EXHAUSTED);
    stage.ask({ stream: true });
    happens(stage);
    expect(inFlightOf(nextReport(stage))).toEqual({ "m:a/m": 0 });
    await stage.close();
  });

  it("invariant 3, R10: neither is one whose credential is not there", async () => {
    const stage = createStage(attempt("c/m"), refuse(503, "provider_not_ready"));
    stage.ask();
    expect(inFlightOf(nextReport(stage))).toEqual({ "m:c/m": 0 });
    await stage.close();
  });

  it("E9: a call with a caller's own key is in flight and no more", async () => {
    const stage = createStage(attempt("a/m"));
    stage.ask({ headers: { "x-provider-key": "a=their-own-key" } });
    expect(nextReport(stage)?.deployments).toMatchObject([{ inFlight: 1, requests: 0n, tokens: 0n }]);
    stage.upstream.at(0).answer(200, OK);
    expect(nextReport(stage)?.deployments).toMatchObject([{ inFlight: 0, measured: 0, tokens: 0n }]);
    await stage.close();
  });
});

describe("probes", () => {
  it("B4: a probe's success is told at once, and as a probe's", async () => {
    const stage = createStage(attempt("a/m", { probe: true }));
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    expect(stage.published.outcomes).toEqual(["a/m=ok"]);
    await stage.close();
  });
});
