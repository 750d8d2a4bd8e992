import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseHttpDate } from "../../src/errors/http-date.ts";
import { recogniseError } from "../../src/errors/recognise-error.ts";
import { retryAfterMs } from "../../src/errors/retry-after.ts";

const now = Date.UTC(2026, 11, 1, 10, 0, 0);

function wait(headers: Readonly<Record<string, string>>): number | undefined {
  return retryAfterMs((name) => headers[name], now);
}

describe("E2, BH-04: how long a provider asks to wait", () => {
  it.each([
    ["3", 3000],
    [" 3 ", 3000],
    ["0", 0],
    ["1.5", 1500],
    ["0.0001", 1],
    ["Tue, 01 Dec 2026 10:00:03 GMT", 3000],
    ["Tuesday, 01-Dec-26 10:00:03 GMT", 3000],
    ["Tue Dec  1 10:00:03 2026", 3000],
    ["Sun, 06 Nov 1994 08:49:37 GMT", 0],
    ["-1", undefined],
    ["", undefined],
    ["soon", undefined],
    ["NaN", undefined],
    ["1e3", undefined],
    ["9".repeat(400), undefined],
    ["Tue, 31 Nov 2026 10:00:03 GMT", undefined],
    ["Tue, 01 Dec 2026 24:00:03 GMT", undefined],
  ])("Retry-After %j is %s", (value, expected) => {
    expect(wait({ "retry-after": value })).toBe(expected);
  });

  it("retry-after-ms comes first, unless it is zero or unreadable", () => {
    expect(wait({ "retry-after-ms": "250", "retry-after": "9" })).toBe(250);
    expect(wait({ "retry-after-ms": "0", "retry-after": "1" })).toBe(1000);
    expect(wait({ "retry-after-ms": "x", "retry-after": "1" })).toBe(1000);
    expect(wait({ "retry-after-ms": "0" })).toBe(0);
    expect(wait({})).toBeUndefined();
  });

  it("the dates of the platform are read back", () => {
    const max = Date.UTC(9999, 11, 31);
    fc.assert(
      fc.property(fc.integer({ min: 0, max: max / 1000 }), (seconds) => {
        expect(parseHttpDate(new Date(seconds * 1000).toUTCString(), now)).toBe(seconds * 1000);
      }),
    );
  });

  it("two digits of a year mean the past if they would lie more than 50 years ahead", () => {
    expect(parseHttpDate("Sunday, 06-Nov-94 08:49:37 GMT", now)).toBe(Date.UTC(1994, 10, 6, 8, 49, 37));
    expect(parseHttpDate("Friday, 01-Jan-70 00:00:00 GMT", now)).toBe(Date.UTC(2070, 0, 1));
  });

  it("no text throws", () => {
    fc.assert(
      fc.property(fc.string(), (text) => {
        const read = wait({ "retry-after": text });
        expect(read === undefined || (Number.isSafeInteger(read) && read >= 0)).toBe(true);
      }),
    );
  });
});

describe("E2: a wait that only the body tells", () => {
  const google = (headers: Record<string, string>, delay: string) =>
    recogniseError(
      {
        family: "gemini",
        status: 429,
        headers: (name) => headers[name],
        body: JSON.stringify({
          error: {
            code: 429,
            status: "RESOURCE_EXHAUSTED",
            message: "Resource has been exhausted",
            details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: delay }],
          },
        }),
        inStream: false,
      },
      0,
    ).retryAfterMs;

  it("is read from google.rpc.RetryInfo, rounded up", () => {
    expect(google({}, "48.939935699s")).toBe(48_940);
    expect(google({}, "5s")).toBe(5_000);
  });

  it("gives way to a header, and is nothing when it is no duration", () => {
    expect(google({ "retry-after": "7" }, "48s")).toBe(7_000);
    expect(google({}, "soon")).toBeUndefined();
  });
});
