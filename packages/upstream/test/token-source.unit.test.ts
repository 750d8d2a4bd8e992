import * as fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { type AskForToken, createTokenSource, TokenError } from "../src/auth/token-source.ts";

const HOUR = 3_600_000;
const ask = vi.fn<AskForToken>();
let now = 1_000;
const source = (): ReturnType<typeof createTokenSource> => createTokenSource(ask, () => now);
const grant = (token: string, expires: number | undefined): void => {
  ask.mockResolvedValue({ token, expires });
};
/** None comes; returns the signal that the asked one was given. */
const hang = (): (() => AbortSignal | undefined) => {
  ask.mockImplementation(() => new Promise(() => undefined));
  return () => ask.mock.lastCall?.[0];
};
const fail = (error: unknown): void => {
  ask.mockRejectedValue(error);
};

beforeEach(() => {
  ask.mockReset();
  now = 1_000;
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a kept token", () => {
  it("is got once for all who wait, and serves until it nears its end", async () => {
    grant("t1", now + HOUR);
    const tokens = source();
    expect(tokens.current()).toBeUndefined();
    expect(await Promise.all([tokens.next(), tokens.next()])).toEqual(["t1", "t1"]);
    now += HOUR - 301_000;
    expect(tokens.current()).toBe("t1");
    expect(ask).toHaveBeenCalledTimes(1);
    grant("t2", now + HOUR);
    now += 1_000;
    expect([tokens.current(), tokens.current()]).toEqual(["t1", "t1"]);
    expect(ask).toHaveBeenCalledTimes(2);
    await tokens.next();
    expect(tokens.current()).toBe("t2");
  });

  it("serves to its end where another can't be got: only then is the account not ready", async () => {
    grant("t1", now + HOUR);
    const tokens = source();
    await tokens.next();
    fail(new TokenError("invalid_grant"));
    now += HOUR - 100_000;
    expect(tokens.current()).toBe("t1");
    await vi.waitFor(() => expect(tokens.failure).toBe("invalid_grant"));
    expect(tokens.isFailing).toBe(false);
    expect(tokens.current()).toBe("t1");
    now += 90_000;
    expect(tokens.current()).toBeUndefined();
    expect(tokens.isFailing).toBe(true);
    grant("t2", now + HOUR);
    expect(await tokens.next()).toBe("t2");
    expect([tokens.isFailing, tokens.failure]).toEqual([false, undefined]);
  });

  it("of a short life is replaced in the middle of it, not at each request", async () => {
    grant("t1", now + 120_000);
    const tokens = source();
    await tokens.next();
    now += 59_000;
    expect(tokens.current()).toBe("t1");
    expect(ask).toHaveBeenCalledTimes(1);
    now += 1_000;
    expect(tokens.current()).toBe("t1");
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it("without an end is looked for again each minute, since it may have been replaced", async () => {
    grant("t1", undefined);
    const tokens = source();
    await tokens.next();
    now += 59_999;
    tokens.current();
    expect(ask).toHaveBeenCalledTimes(1);
    now += HOUR;
    grant("t2", undefined);
    expect(tokens.current()).toBe("t1");
    expect(await tokens.next()).toBe("t2");
  });

  it("that a provider refuses is replaced, unless it is new or another one", async () => {
    grant("t1", now + HOUR);
    const tokens = source();
    await tokens.next();
    tokens.refused("t1");
    now += 30_000;
    tokens.refused("t0");
    expect(tokens.current()).toBe("t1");
    tokens.refused("t1");
    expect(tokens.current()).toBeUndefined();
  });

  it("that a provider refuses is replaced also where the clock was set back, and so is one that did not come", async () => {
    grant("t1", now + 2 * HOUR);
    now += HOUR;
    const tokens = source();
    await tokens.next();
    now -= HOUR;
    tokens.refused("t1");
    expect(tokens.current()).toBeUndefined();
    now += HOUR;
    fail(new TokenError("status 500"));
    await tokens.next();
    now -= HOUR;
    grant("t2", now + HOUR);
    expect(await tokens.next()).toBe("t2");
  });

  it("has no white space around it, and fits a header", async () => {
    grant(" t1\r\n", undefined);
    const tokens = source();
    expect(await tokens.next()).toBe("t1");
    const other = source();
    for (const odd of ["a\nb: c", "a\u0000", "\u2603", " \n"]) {
      grant(odd, undefined);
      expect(await other.next()).toBeUndefined();
      now += 2_000;
    }
    expect([other.isFailing, other.failure]).toEqual([true, "an empty token"]);
  });
});

describe("a token that does not come", () => {
  it("is waited for 15 s and no longer, and its requests end", async () => {
    vi.useFakeTimers();
    const signal = hang();
    const tokens = source();
    const next = tokens.next();
    await vi.advanceTimersByTimeAsync(14_999);
    expect(signal()?.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect(await next).toBeUndefined();
    expect(signal()?.aborted).toBe(true);
    expect([tokens.isFailing, tokens.failure]).toEqual([true, "no answer in time"]);
  });

  it("is waited for no more when its source is closed", async () => {
    const signal = hang();
    const tokens = source();
    const next = tokens.next();
    tokens.close();
    expect(await next).toBeUndefined();
    expect(signal()?.aborted).toBe(true);
    now += 60_000;
    expect(await tokens.next()).toBeUndefined();
    expect(ask).toHaveBeenCalledTimes(1);
  });

  it("is not asked for again within 2 s", async () => {
    fail(new TokenError("status 500"));
    const tokens = source();
    await tokens.next();
    grant("t1", undefined);
    now += 1_999;
    expect(await tokens.next()).toBeUndefined();
    now += 1;
    expect(await tokens.next()).toBe("t1");
    expect(ask).toHaveBeenCalledTimes(2);
  });

  it.each([
    ["OAuth's word", { response: { status: 400, data: { error: "invalid_client" } } }, "invalid_client"],
    ["a status", { response: { status: 403, data: {} }, code: "403" }, "status 403"],
    ["a code", { code: "ECONNREFUSED" }, "ECONNREFUSED"],
    ["a cause's code", { cause: { code: "ENOTFOUND" } }, "ENOTFOUND"],
    ["AWS's library", { name: "CredentialsProviderError" }, "no credentials found"],
    ["a limit of time", new DOMException("x", "TimeoutError"), "no answer in time"],
    ["nothing known", undefined, "no token"],
  ])("tells why: %s", async (_title, error, word) => {
    fail(error);
    const tokens = source();
    await tokens.next();
    expect(tokens.failure).toBe(word);
  });

  it("invariant 9: never tells what stands in an error", async () => {
    const SECRET = "s3cr3t-7f9a";
    const word = fc.constantFrom(SECRET, `x ${SECRET}`, "invalid_grant", 400, undefined);
    const thrown = fc.record({
      message: word,
      name: word,
      code: word,
      config: fc.record({ data: word }),
      response: fc.record({ status: word, data: fc.record({ error: word, error_description: word }) }),
      cause: fc.record({ code: word, message: word }),
    });
    await fc.assert(
      fc.asyncProperty(thrown, async (error) => {
        fail(error);
        const tokens = source();
        await tokens.next();
        expect(tokens.failure).not.toContain(SECRET);
      }),
    );
  });
});
