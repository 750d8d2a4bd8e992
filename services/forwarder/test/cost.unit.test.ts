import { create } from "@bufbuild/protobuf";
import { PriceSchema } from "@switchyard/proto/config/v1/config";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { costOf, formatCost } from "../src/report/cost.ts";
import { attempt, EXHAUSTED } from "./fakes.ts";
import { createStage, DONE, ERROR_500, FINISH, OK, ROLE, token, USAGE } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const usage = (input: number, output: number) => ({
  input,
  output,
  total: input + output,
  cached: 0,
  reasoning: 0,
});
const price = (input: number, output: number) => create(PriceSchema, { input, output });

describe("x-ants-cost", () => {
  it.each([
    [1, 1, 0.1, 0.2, "0.0000003"],
    [3, 7, 1.25, 10, "0.00007375"],
    [0, 0, 1, 1, "0"],
    [1_000_000, 0, 0.15, 0, "0.15"],
    [3, 0, 0.07, 0, "0.00000021"],
    [123_456_789, 987_654_321, 2.5, 10, "10185.1851825"],
    [1, 0, 0.000001, 0, "0.000000000001"],
  ])("H2: %i and %i tokens at %d and %d are %s", (input, output, ip, op, expected) => {
    expect(formatCost(costOf(usage(input, output), price(ip, op)) ?? Number.NaN)).toBe(expected);
  });

  it("H2: is the exact sum for any counts and prices", () => {
    const tokens = fc.integer({ min: 0, max: 10_000_000 });
    const millionths = fc.integer({ min: 0, max: 100_000_000 });
    fc.assert(
      fc.property(tokens, tokens, millionths, millionths, (input, output, ip, op) => {
        const units = BigInt(input) * BigInt(ip) + BigInt(output) * BigInt(op);
        const shown = formatCost(costOf(usage(input, output), price(ip / 1e6, op / 1e6)) ?? Number.NaN);
        const [whole, fraction = ""] = shown.split(".");
        expect(BigInt(`${whole}${fraction.padEnd(12, "0")}`)).toBe(units);
      }),
    );
  });

  it("H2: is absent without a price, without usage, and on an error", () => {
    const stage = createStage(attempt("a/m"));
    stage.ask();
    stage.upstream.at(0).answer(200, OK);
    expect(stage.sink.header("x-ants-cost")).toBeUndefined();
    expect(stage.sink.trailer?.costUsd).toBeUndefined();
    const priced = createStage(attempt("a/m", { price: price(1, 1) }));
    priced.ask();
    priced.upstream.at(0).answer(200, '{"choices":[{"index":0,"message":{"content":"x"}}]}');
    expect(priced.sink.header("x-ants-cost")).toBeUndefined();
    const failing = createStage(attempt("a/m", { price: price(1, 1) }), EXHAUSTED);
    failing.ask();
    failing.upstream.at(0).answer(500, ERROR_500);
    expect(failing.sink.header("x-ants-cost")).toBeUndefined();
  });

  it("H2: is of the config's prices for each kind of token", () => {
    const used = {
      prompt_tokens: 1000,
      completion_tokens: 500,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 100, audio_tokens: 200 },
      completion_tokens_details: { reasoning_tokens: 100, audio_tokens: 300 },
    };
    const kinds = { cachedInput: 0.25, cacheWrite: 3, audioInput: 40, audioOutput: 80 };
    const stage = createStage(
      attempt("a/m", { price: create(PriceSchema, { input: 2, output: 8, ...kinds }) }),
    );
    stage.ask();
    stage.upstream.at(0).answer(200, JSON.stringify({ ...(JSON.parse(OK) as object), usage: used }));
    const micros = 100 * 2 + 600 * 0.25 + 100 * 3 + 200 * 40 + 200 * 8 + 300 * 80;
    expect(Number(stage.sink.header("x-ants-cost"))).toBeCloseTo(micros / 1e6, 12);
    expect(stage.sink.trailer?.costUsd).toBeCloseTo(micros / 1e6, 12);
  });

  it("H2: without a price in the config it is what the provider says that it charges; with one, that price", async () => {
    const charging = OK.replace('"prompt_tokens":3', '"cost":5.37e-06,"prompt_tokens":3');
    const stage = createStage(attempt("a/m"));
    stage.ask();
    stage.upstream.at(0).answer(200, charging);
    expect(stage.sink.header("x-ants-cost")).toBe("0.00000537");
    expect(stage.sink.trailer?.costUsd).toBe(5.37e-6);
    await stage.close();
    expect(stage.published.usage[0]?.costUsd).toBe(5.37e-6);
    const priced = createStage(attempt("a/m", { price: price(1.25, 10) }));
    priced.ask();
    priced.upstream.at(0).answer(200, charging);
    expect(priced.sink.header("x-ants-cost")).toBe("0.00007375");
    expect(priced.sink.trailer?.costUsd).toBe(0.000_073_75);
    const free = createStage(attempt("a/m", { price: price(0, 0) }));
    free.ask();
    free.upstream.at(0).answer(200, charging);
    expect(free.sink.header("x-ants-cost")).toBe("0");
  });

  it("H2: of a stream, the trailer has it, by kinds or as the provider charges it", () => {
    const details = { prompt_tokens_details: { cached_tokens: 1 } };
    const told = USAGE.replace(
      '"total_tokens":2',
      `"total_tokens":2,"cost":0.5,${JSON.stringify(details).slice(1, -1)}`,
    );
    const events = ROLE + token("hi") + FINISH + told + DONE;
    const costs = [undefined, create(PriceSchema, { input: 2, output: 8, cachedInput: 0.5 })].map((set) => {
      const stage = createStage(attempt("a/m", set === undefined ? {} : { price: set }));
      stage.ask({ stream: true });
      stage.upstream.at(0).stream().data(events).end();
      return stage.sink.trailer?.costUsd;
    });
    expect(costs).toStrictEqual([0.5, 0.000_008_5]);
  });

  it("a provider that claims more tokens than can be counted breaks nothing", async () => {
    const stage = createStage(attempt("a/m", { price: price(1, 1) }));
    stage.ask();
    stage.upstream.at(0).answer(200, OK.replace('"prompt_tokens":3', '"prompt_tokens":1e300'));
    expect(stage.sink.ends).toBe(1);
    await stage.close();
    expect(stage.published.usage[0]?.usage?.input).toBe(BigInt(Number.MAX_SAFE_INTEGER));
  });

  it("tells usage and cost once, to caller and ledgers alike", async () => {
    const stage = createStage(attempt("a/m"), attempt("b/m", { price: price(1.25, 10) }));
    stage.ask();
    stage.upstream.at(0).answer(500, ERROR_500);
    stage.upstream.at(1).answer(200, OK);
    expect(stage.sink.header("x-ants-cost")).toBe("0.00007375");
    await stage.close();
    expect(stage.published.usage).toHaveLength(1);
    expect(stage.published.usage[0]).toMatchObject({
      requestId: "req_1",
      group: "default/g",
      deployment: "b/m",
      key: "key-name",
      costUsd: 0.000_073_75,
    });
  });
});
