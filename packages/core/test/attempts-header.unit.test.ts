import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AttemptRow, formatAttemptsHeader, MAX_HEADER_BYTES, outcomeName } from "../src/index.ts";

describe("x-ants-attempts", () => {
  it("H1 is a JSON array with these fields, and only those that are known", () => {
    const rows: AttemptRow[] = [
      {
        deployment: "a/m",
        outcome: "retryable",
        ms: 12.4,
        status: 429,
        error: "rate_limited",
        message: "slow down",
      },
      { deployment: "b/m", outcome: "ok", ms: 300, status: 200 },
    ];
    expect(formatAttemptsHeader(rows)).toBe(
      '[{"deployment":"a/m","outcome":"retryable","ms":12,"status":429,"error":"rate_limited","message":"slow down"},' +
        '{"deployment":"b/m","outcome":"ok","ms":300,"status":200}]',
    );
    expect(formatAttemptsHeader([])).toBe("[]");
  });

  it("H1 is ASCII only, and reads back as what was written", () => {
    const rows: AttemptRow[] = [{ deployment: "ä/m", outcome: "failed", ms: 1, message: "好\n🌍\u007f" }];
    const header = formatAttemptsHeader(rows);
    expect(header).toMatch(/^[\x20-\x7e]+$/);
    expect(JSON.parse(header)).toEqual(rows);
  });

  it("H1 cuts messages at 200 characters, and no surrogate pair in half", () => {
    const message = (text: string) => {
      const parsed = JSON.parse(
        formatAttemptsHeader([{ deployment: "a", outcome: "ok", ms: 1, message: text }]),
      );
      return parsed[0].message as string;
    };
    expect(message("x".repeat(300))).toBe("x".repeat(200));
    expect(message(`${"x".repeat(199)}🌍`)).toBe("x".repeat(199));
    expect(message(`${"x".repeat(198)}🌍y`)).toBe(`${"x".repeat(198)}🌍`);
  });

  it("H1 stays within 4 KiB, and the last attempts are the ones that stay", () => {
    const text = fc.string({ unit: "grapheme", maxLength: 400 });
    const row = fc.record({
      deployment: text,
      outcome: fc.constantFrom("ok", "failed", "benched"),
      ms: fc.nat(),
      message: fc.option(text, { nil: undefined }),
    });
    fc.assert(
      fc.property(fc.array(row, { maxLength: 40 }), (rows) => {
        const header = formatAttemptsHeader(rows);
        expect(header.length).toBeLessThanOrEqual(MAX_HEADER_BYTES);
        expect(header).toMatch(/^[\x20-\x7e]*$/);
        const kept = JSON.parse(header) as { ms: number }[];
        expect(kept.map(({ ms }) => ms)).toEqual(rows.slice(rows.length - kept.length).map(({ ms }) => ms));
      }),
    );
  });

  it("H1 the outcome follows from the class", () => {
    expect(outcomeName(undefined, false)).toBe("ok");
    expect(outcomeName("rate_limited", false)).toBe("retryable");
    expect(outcomeName("rate_limited", true)).toBe("benched");
    expect(outcomeName("timeout", false)).toBe("timeout");
    expect(outcomeName("auth", false)).toBe("failed");
    expect(outcomeName("invalid_request", false)).toBe("failed");
  });
});
