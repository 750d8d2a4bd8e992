import { errorClassFromWire } from "@switchyard/cluster";
import { afterEach, describe, expect, it, vi } from "vitest";
import { attempt, EXHAUSTED } from "./fakes.ts";
import { createStage, ERROR_500, OK } from "./stage.ts";
import type { Stage } from "./stage.ts";

const source = {
  isFailing: false,
  failure: undefined,
  current: vi.fn<() => string | undefined>(),
  next: vi.fn<() => Promise<string | undefined>>(),
  refused: vi.fn<(token: string) => void>(),
  close: vi.fn<() => void>(),
};

const SENDS_TOKENS = attempt("t/m", { connectTimeoutMs: 500n });
const UNAUTHORIZED = '{"error":{"message":"no","type":"authentication_error","code":"invalid_api_key"}}';

afterEach(() => {
  vi.useRealTimers();
  vi.resetAllMocks();
});

/** The request is sent when the token is there. */
async function sent(stage: Stage): Promise<readonly string[]> {
  await vi.waitFor(() => expect(stage.upstream.exchanges).toHaveLength(1));
  return stage.upstream.at(0).request.headers;
}

describe("an account that sends tokens", () => {
  it("sends the one at hand", async () => {
    source.next.mockResolvedValue("t1");
    source.current.mockReturnValue("t1");
    const stage = createStage.withTokens(source, SENDS_TOKENS);
    stage.ask();
    expect(await sent(stage)).toContain("Bearer t1");
    stage.upstream.at(0).answer(200, OK);
    expect(stage.sink.head?.status).toBe(200);
    expect(source.refused).not.toHaveBeenCalled();
    await stage.close();
    expect(source.close).toHaveBeenCalledTimes(1);
  });

  it.each([
    [401, UNAUTHORIZED, [["t1"]]],
    [500, ERROR_500, []],
  ])("is told when the provider does not take it: %i", async (status, body, refusals) => {
    source.next.mockResolvedValue("t1");
    source.current.mockReturnValue("t1");
    const stage = createStage.withTokens(source, SENDS_TOKENS, EXHAUSTED);
    stage.ask();
    await sent(stage);
    stage.upstream.at(0).answer(status, body);
    expect(source.refused.mock.calls).toEqual(refusals);
    await stage.close();
  });

  it("R10: waits for one no longer than for a connection, then another serves", async () => {
    const waiting = Promise.withResolvers<string | undefined>();
    source.next.mockReturnValue(waiting.promise);
    const stage = createStage.withTokens(source, SENDS_TOKENS, attempt("b/m"));
    stage.ask();
    await vi.advanceTimersByTimeAsync(499);
    expect(stage.decides).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(errorClassFromWire(stage.decides[1]?.failed?.error ?? 0)).toBe("not_ready");
    expect(stage.upstream.exchanges).toHaveLength(1);
    waiting.resolve("late");
    await vi.advanceTimersByTimeAsync(0);
    expect(stage.upstream.exchanges).toHaveLength(1);
    await stage.close();
  });

  it("R10: without one another serves", async () => {
    source.next.mockResolvedValue(undefined);
    const stage = createStage.withTokens(source, SENDS_TOKENS, attempt("b/m"));
    stage.ask();
    await sent(stage);
    expect(stage.upstream.at(0).request.headers).not.toContain("Bearer t1");
    stage.upstream.at(0).answer(200, OK);
    expect(stage.sink.head?.status).toBe(200);
    await stage.close();
  });

  it("a caller that leaves meanwhile causes no call", async () => {
    const waiting = Promise.withResolvers<string | undefined>();
    source.next.mockReturnValue(waiting.promise);
    const stage = createStage.withTokens(source, SENDS_TOKENS);
    stage.ask();
    stage.call.cancel();
    waiting.resolve("late");
    await vi.advanceTimersByTimeAsync(1_000);
    expect(stage.upstream.exchanges).toHaveLength(0);
    expect(stage.decides).toHaveLength(1);
    await stage.close();
  });
});
