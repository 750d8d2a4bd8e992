import { readFailure } from "@switchyard/rpc";
import { afterEach, describe, expect, it, vi } from "vitest";
import { readSdkFacts } from "../src/request/sdk-headers.ts";
import { attempt, EXHAUSTED, refuse } from "./fakes.ts";
import { createStage, ERROR_500 } from "./stage.ts";

afterEach(() => {
  vi.useRealTimers();
});

const NOW = 1_000_000;

describe("what callers' SDKs say of their tries", () => {
  it.each([
    ["2", 2],
    ["0", 0],
    ["999999", 100],
    ["-1", 0],
    ["1.5", 0],
    ["two", 0],
    ["", 0],
  ])("E4: x-stainless-retry-count %j counts as %i", (value, retries) => {
    expect(readSdkFacts(["x-stainless-retry-count", value], NOW, undefined).retries).toBe(retries);
  });

  it.each([
    ["x-stainless-timeout", "600", NOW + 600_000],
    ["x-stainless-read-timeout", "1.5", NOW + 1_500],
    ["x-stainless-timeout", "0", undefined],
    ["x-stainless-timeout", "-3", undefined],
    ["x-stainless-timeout", "1e3", undefined],
    ["x-stainless-timeout", "99999999", undefined],
  ])("E4: %s %j is a deadline at %s", (name, value, deadline) => {
    expect(readSdkFacts([name, value], NOW, undefined).deadline).toBe(deadline);
  });

  it("E4: the earlier of two deadlines counts", () => {
    const headers = ["x-stainless-timeout", "2"];
    expect(readSdkFacts(headers, NOW, NOW + 500).deadline).toBe(NOW + 500);
    expect(readSdkFacts(headers, NOW, NOW + 5_000).deadline).toBe(NOW + 2_000);
    expect(readSdkFacts([], NOW, NOW + 5_000).deadline).toBe(NOW + 5_000);
  });

  it("E4: every decision is told", async () => {
    const stage = createStage(attempt("a/m"), EXHAUSTED);
    stage.ask({ headers: { "x-stainless-retry-count": "1", "x-stainless-timeout": "5" } });
    await vi.advanceTimersByTimeAsync(1_000);
    stage.upstream.at(0).answer(500, ERROR_500);
    expect(stage.decides.map(({ facts }) => facts?.sdkRetries)).toEqual([1, 1]);
    expect(stage.decides.map(({ facts }) => facts?.deadlineMs)).toEqual([5_000n, 4_000n]);
    await stage.close();
  });
});

describe("x-should-retry", () => {
  const FINAL = refuse(502, "upstream_unreachable", { exhausted: true, final: true });

  it("is false beside a provider's answer that is final, and left out beside another", async () => {
    for (const [last, expected] of [
      [FINAL, "false"],
      [EXHAUSTED, undefined],
    ] as const) {
      const stage = createStage(attempt("a/m"), last);
      stage.ask();
      stage.upstream.at(0).answer(500, ERROR_500);
      expect(stage.sink.header("x-should-retry")).toBe(expected);
      await stage.close();
    }
  });

  it.each(["true", "false"])("is the provider's own where it says %s", async (own) => {
    const stage = createStage(attempt("a/m"), FINAL);
    stage.ask();
    stage.upstream.at(0).answer(500, ERROR_500, ["x-should-retry", own]);
    const told = stage.sink.head?.headers.filter(({ name }) => name === "x-should-retry");
    expect(told?.map(({ value }) => value)).toEqual([own]);
    await stage.close();
  });

  it("goes with a refusal of our own", async () => {
    const stage = createStage(refuse(503, "provider_not_ready", { final: true }));
    stage.ask();
    const { metadata } = readFailure(stage.sink.failed);
    expect(metadata["should_retry"]).toBe("false");
    await stage.close();
  });
});
