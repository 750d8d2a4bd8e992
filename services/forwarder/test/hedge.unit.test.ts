import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { attempt, EXHAUSTED, refuse } from "./fakes.ts";
import type { Script } from "./fakes.ts";
import { createStage, DONE, ERROR_500, ERROR_EVENT, FINISH, OK, ROLE, token } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const SLOW = { hedges: true, hedgeAfterMs: 100n };
const first = attempt("a/m", { ...SLOW, decisionId: "first" });
const second = attempt("b/m", { hedges: true, step: "hedge", decisionId: "second" });
const NOT_HEDGED = refuse(409, "not_hedged");

/** A request whose first attempt has not begun to answer after 100 ms. */
async function slow(stream: boolean, ...scripts: readonly Script[]) {
  const stage = createStage(first, ...scripts);
  stage.ask({ stream });
  await vi.advanceTimersByTimeAsync(100);
  return stage;
}

describe("hedge: a second attempt beside a slow one", () => {
  it("is asked for with the continuation, and neither asked for nor made before its time", async () => {
    const stage = createStage(first, second, EXHAUSTED);
    stage.ask();
    await vi.advanceTimersByTimeAsync(99);
    expect(stage.decides).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(stage.decides[1]).toMatchObject({ hedge: true, continuation: new Uint8Array([7]) });
    expect(stage.decides[1]?.failed).toBeUndefined();
    expect(stage.upstream.exchanges).toHaveLength(2);
    stage.call.cancel();
    expect(stage.upstream.exchanges.map(({ aborted }) => aborted)).toEqual([true, true]);
    await stage.close();
    expect(stage.published.outcomes).toEqual(["b/m=cancelled", "a/m=cancelled"]);
  });

  it.each([
    ["a head of a whole answer", (stage: ReturnType<typeof createStage>) => stage.upstream.at(0).head(200)],
    ["a failure", (stage: ReturnType<typeof createStage>) => stage.upstream.at(0).answer(500, ERROR_500)],
    ["the caller's leaving", (stage: ReturnType<typeof createStage>) => stage.call.cancel()],
  ])("is not asked for after %s", async (_what, happen) => {
    const stage = createStage(first, EXHAUSTED);
    stage.ask();
    happen(stage);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stage.decides.filter(({ hedge }) => hedge)).toEqual([]);
    stage.call.cancel();
    await stage.close();
  });

  it.each([0, 1])("whichever begins first serves, and both are told of: exchange %i", async (winner) => {
    const stage = await slow(true, second, EXHAUSTED);
    for (const exchange of stage.upstream.exchanges) exchange.stream().data(ROLE);
    stage.upstream.at(winner).data(token("won"));
    const loser = stage.upstream.at(1 - winner);
    expect(loser.aborted).toBe(true);
    stage.upstream.at(winner).data(FINISH).data(DONE).end();
    const names = ["a/m", "b/m"];
    expect(stage.sink.attempts).toMatchObject([
      { deployment: names[1 - winner], outcome: "failed", error: "cancelled" },
      { deployment: names[winner], outcome: "ok" },
    ]);
    expect(stage.sink.body).toContain("won");
    expect(stage.sink.trailer?.deployment).toBe(names[winner]);
    expect(stage.logger.of("request")[0]).toMatchObject({
      deployment: names[winner],
      attempts: 2,
      hedged: true,
      failures: [`${names[1 - winner]}=cancelled`],
    });
    const { attempts } = stage.tracer.request;
    expect(attempts.map(({ start }) => start.step)).toEqual(["pick", "hedge"]);
    expect(attempts[1 - winner]?.ends).toMatchObject([{ error: "cancelled" }]);
    await stage.close();
    expect(stage.published.outcomes.toSorted()).toEqual(
      [`${names[1 - winner]}=cancelled`, `${names[winner]}=ok`].toSorted(),
    );
  });

  it("one that fails leaves the other to serve", async () => {
    const stage = await slow(false, second, EXHAUSTED);
    stage.upstream.at(1).answer(500, ERROR_500);
    expect(stage.decides).toHaveLength(2);
    stage.upstream.at(0).answer(200, OK);
    expect(stage.sink.attempts.map(({ deployment, outcome }) => [deployment, outcome])).toEqual([
      ["b/m", "retryable"],
      ["a/m", "ok"],
    ]);
    await stage.close();
  });

  it.each([
    [0, "first", "second"],
    [1, "second", "first"],
  ])(
    "when both have failed the router hears of both in the order of their ends: %i first",
    async (index, before, last) => {
      const stage = await slow(false, second, EXHAUSTED);
      stage.upstream.at(index).answer(500, ERROR_500);
      stage.upstream.at(1 - index).answer(529, ERROR_500);
      const { failed, failedBefore, hedge } = stage.decides[2] ?? {};
      expect([failedBefore?.decisionId, failed?.decisionId, hedge]).toEqual([before, last, false]);
      expect(stage.sink.head?.status).toBe(529);
      await stage.close();
    },
  );

  it("E1: a request refused on its merits is not waited for elsewhere", async () => {
    const stage = await slow(false, second, EXHAUSTED);
    stage.upstream.at(0).answer(400, '{"error":{"message":"bad","type":"invalid_request_error"}}');
    expect(stage.upstream.at(1).aborted).toBe(true);
    const { failed, failedBefore } = stage.decides[2] ?? {};
    expect([failedBefore?.error, failed?.error]).toEqual([ErrorClass.CANCELLED, ErrorClass.INVALID_REQUEST]);
    expect(stage.sink.head?.status).toBe(400);
    expect(stage.sink.attempts.map(({ error }) => error)).toEqual(["cancelled", "invalid_request"]);
    await stage.close();
  });

  it("a router that refuses or is away changes nothing for the one that runs", async () => {
    for (const answer of [NOT_HEDGED, (() => Promise.reject(new Error("away"))) as Script]) {
      const stage = await slow(false, answer, EXHAUSTED);
      stage.upstream.at(0).answer(200, OK);
      expect(stage.sink.ends).toBe(1);
      expect(stage.sink.attempts).toMatchObject([{ deployment: "a/m", outcome: "ok" }]);
      expect(stage.decides).toHaveLength(2);
      await stage.close();
    }
  });

  it("R10: one whose credential is missing is dropped, and told of once the other has failed", async () => {
    const missing = attempt("c/m", { step: "hedge", decisionId: "second" });
    const stage = await slow(false, missing, EXHAUSTED);
    expect(stage.upstream.exchanges).toHaveLength(1);
    stage.upstream.at(0).answer(500, ERROR_500);
    const { failed, failedBefore } = stage.decides[2] ?? {};
    expect([failedBefore?.decisionId, failedBefore?.error]).toEqual(["second", ErrorClass.NOT_READY]);
    expect([failed?.decisionId, failed?.error]).toEqual(["first", ErrorClass.SERVER_ERROR]);
    await stage.close();
  });

  it("an answer that comes too late is for nothing", async () => {
    const late: Script = (request) =>
      new Promise((resolve) => setTimeout(() => resolve(second(request)), 50));
    const stage = await slow(false, late, EXHAUSTED);
    stage.upstream.at(0).answer(500, ERROR_500);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stage.upstream.exchanges).toHaveLength(1);
    expect(stage.decides[2]?.failed?.decisionId).toBe("");
    expect(stage.sink.head?.status).toBe(500);
    await stage.close();
  });
});

const bytes = fc.constantFrom(
  "role",
  "token",
  "finish",
  "done",
  "error",
  "ping",
  "half",
  "flood",
  "end",
  "cut",
  "wait",
);
const event = fc.record({ which: fc.nat({ max: 2 }), what: bytes });

it("invariants 3 and 5: two side by side never both reach the caller, whatever comes in whatever order", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(event, { maxLength: 24 }),
      fc.array(fc.constantFrom(200, 200, 200, 400, 500), { minLength: 3, maxLength: 3 }),
      fc.constantFrom<Script>(second, NOT_HEDGED, attempt("c/m", { decisionId: "second" })),
      fc.option(fc.nat({ max: 24 })),
      async (events, statuses, hedge, cancelAt) => {
        const stage = createStage(first, hedge, attempt("b/m", { decisionId: "third" }), EXHAUSTED);
        stage.ask({ stream: true });
        await vi.advanceTimersByTimeAsync(100);
        const begun = new Set<number>();
        let committed: number | undefined;
        for (const [index, { which, what }] of events.entries()) {
          if (index === cancelAt) stage.call.cancel();
          const exchange = stage.upstream.exchanges[which];
          if (exchange === undefined) continue;
          if (!begun.has(which))
            exchange.head(statuses[which] as number, ["content-type", "text/event-stream"]);
          begun.add(which);
          const said = token(`from-${which}`);
          const pieces = { role: ROLE, token: said, finish: FINISH, done: DONE, error: ERROR_EVENT } as const;
          if (what === "end") exchange.end();
          else if (what === "cut") exchange.error("body");
          else if (what === "wait") await vi.advanceTimersByTimeAsync(31_000);
          else if (what === "ping") exchange.data(": ping\n\n");
          else if (what === "half") exchange.data("data: {");
          else if (what === "flood") exchange.data("x".repeat(70_000));
          else exchange.data(pieces[what]);
          await vi.advanceTimersByTimeAsync(0);
          if (stage.sink.head !== undefined) committed ??= stage.upstream.exchanges.length;
        }
        for (let round = 0; round < 4; round += 1) {
          for (const exchange of stage.upstream.exchanges) exchange.error("body");
          await vi.advanceTimersByTimeAsync(20_000);
        }
        const { sink, upstream, published } = stage;
        const speakers = new Set(sink.body.match(/from-\d/g));
        expect(speakers.size).toBeLessThanOrEqual(1);
        expect(sink.ends + (sink.failed === undefined ? 0 : 1)).toBe(1);
        expect(sink.late).toBe(0);
        if (committed !== undefined) expect(upstream.exchanges).toHaveLength(committed);
        expect(stage.logger.of("request")).toHaveLength(1);
        if (sink.head !== undefined) expect(sink.attempts).toHaveLength(upstream.exchanges.length);
        const { ends, openAtEnd, attempts } = stage.tracer.request;
        expect({ ends: ends.length, openAtEnd }).toEqual({ ends: 1, openAtEnd: 0 });
        expect(attempts.map((span) => span.ends.length)).toEqual(upstream.exchanges.map(() => 1));
        for (const exchange of upstream.exchanges) expect(exchange.over).toBe(true);
        await stage.close();
        expect(published.outcomes).toHaveLength(upstream.exchanges.length);
        for (const count of await stage.inFlight()) expect(count).toBe(0);
        expect(vi.getTimerCount()).toBe(0);
        vi.useRealTimers();
      },
    ),
    { numRuns: 200 },
  );
}, 20_000);
