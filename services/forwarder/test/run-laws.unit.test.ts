import * as fc from "fast-check";
import { afterEach, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED } from "./fakes.ts";
import type { FakeExchange, Script } from "./fakes.ts";
import { createStage, DONE, ERROR_500, ERROR_EVENT, FINISH, OK, ROLE, token, USAGE } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

type Event = (exchange: FakeExchange) => void;
const SSE = ["content-type", "text/event-stream"];
const JSON_TYPE = ["content-type", "application/json"];

const headOf = fc.tuple(
  fc.constantFrom(200, 204, 307, 400, 429, 500, 529),
  fc.constantFrom(SSE, JSON_TYPE, []),
);
const bytes = fc.constantFrom(
  ROLE,
  token("x"),
  FINISH,
  USAGE,
  DONE,
  ERROR_EVENT,
  OK,
  ERROR_500,
  ": ping\n\n",
  "data: {",
  "x".repeat(70_000),
);
const phase = fc.constantFrom(
  "connect",
  "before_headers",
  "headers_timeout",
  "body",
  "idle_timeout" as const,
);

/** What a provider may do after its head, and a clock that moves meanwhile. */
const step: fc.Arbitrary<Event> = fc.oneof(
  {
    weight: 6,
    arbitrary: bytes.map(
      (text): Event =>
        (exchange) =>
          void exchange.data(text),
    ),
  },
  { weight: 2, arbitrary: fc.constant<Event>((exchange) => exchange.end()) },
  {
    weight: 1,
    arbitrary: phase.map(
      (at): Event =>
        (exchange) =>
          exchange.error(at),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom(100, 2_000, 31_000).map(
      (ms): Event =>
        () =>
          void vi.advanceTimersByTime(ms),
    ),
  },
);
const exchangeRun = fc.record({
  head: fc.option(headOf, { freq: 6 }),
  steps: fc.array(step, { maxLength: 6 }),
  full: fc.boolean(),
});

const script: fc.Arbitrary<Script> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.constantFrom("a/m", "b/m").map(
      (id): Script =>
        (request) =>
          attempt(id)(request),
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .record({ delayMs: fc.constantFrom(0n, 50n), firstTokenTimeoutMs: fc.constantFrom(0n, 1_000n) })
      .map(
        (more): Script =>
          (request) =>
            attempt("a/m", { ...more, timeoutCoversBody: true, timeoutMs: 5_000n })(request),
      ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom("a/m", "c/m").map(
      (id): Script =>
        (request) =>
          attempt(id, { hedges: true, hedgeAfterMs: 30n })(request),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Script>((request) => attempt("c/m")(request)) },
  {
    weight: 2,
    arbitrary: fc.constant<Script>(
      (request) => new Promise((resolve) => setTimeout(() => resolve(attempt("b/m")(request)), 20)),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Script>(() => Promise.reject(new Error("gone"))) },
);

it("invariants 3 and 5: whatever comes, one end, one outcome for each attempt, nothing twice", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(script, { minLength: 1, maxLength: 4 }),
      fc.array(exchangeRun, { minLength: 4, maxLength: 4 }),
      fc.boolean(),
      fc.option(fc.nat({ max: 20 })),
      async (scripts, runs, stream, cancelAt) => {
        const stage = createStage(...scripts, EXHAUSTED);
        let moments = 0;
        let committedAt: number | undefined;
        const pass = async (): Promise<void> => {
          await vi.advanceTimersByTimeAsync(0);
          if (stage.sink.head !== undefined) committedAt ??= stage.upstream.exchanges.length;
          if (moments === cancelAt) stage.call.cancel();
          moments += 1;
        };
        stage.ask({ stream });
        for (const [index, run] of runs.entries()) {
          await vi.advanceTimersByTimeAsync(60);
          const exchange = stage.upstream.exchanges[index];
          if (exchange === undefined) break;
          await pass();
          if (run.head !== null) exchange.head(...run.head);
          stage.sink.full = run.full;
          for (const one of run.steps) {
            one(exchange);
            await pass();
          }
          if (exchange.paused) {
            stage.sink.drain();
            expect(exchange.paused && !exchange.over).toBe(false);
          }
          exchange.error("body");
          await pass();
        }
        await vi.advanceTimersByTimeAsync(20_000);
        for (const exchange of stage.upstream.exchanges) exchange.error("before_headers");
        await vi.advanceTimersByTimeAsync(20_000);

        const { sink, upstream, published } = stage;
        expect(sink.ends + (sink.failed === undefined ? 0 : 1)).toBe(1);
        expect(sink.late).toBe(0);
        if (committedAt !== undefined) expect(upstream.exchanges).toHaveLength(committedAt);
        expect(stage.logger.of("request")).toHaveLength(1);
        const { ends, openAtEnd, attempts } = stage.tracer.request;
        expect({ ends: ends.length, openAtEnd }).toEqual({ ends: 1, openAtEnd: 0 });
        expect(attempts.map((span) => span.ends.length)).toEqual(upstream.exchanges.map(() => 1));
        for (const exchange of upstream.exchanges) expect(exchange.over).toBe(true);
        await stage.close();
        expect(published.outcomes).toHaveLength(upstream.exchanges.length);
        expect(published.usage.length).toBeLessThanOrEqual(1);
        for (const count of await stage.inFlight()) expect(count).toBe(0);
        const told = published.loads.findLast(({ leaving }) => !leaving)?.deployments ?? [];
        expect(told.filter((load) => load.inFlight > 0)).toEqual([]);
        expect(vi.getTimerCount()).toBe(0);
        vi.useRealTimers();
      },
    ),
    { numRuns: 150 },
  );
}, 20_000);
