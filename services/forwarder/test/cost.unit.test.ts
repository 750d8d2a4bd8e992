import { create } from "@bufbuild/protobuf";
import { PriceSchema } from "@switchyard/proto/config/v1/config";
import * as fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import { costOf, formatCost } from "../src/report/cost.ts";
import { attempt, EXHAUSTED } from "./fakes.ts";
import { createStage, ERROR_500, OK } from "./stage.ts";

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
