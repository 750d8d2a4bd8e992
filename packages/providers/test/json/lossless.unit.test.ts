import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { JsonProgress } from "../../src/json/completeness.ts";
import { isJsonNumber, isJsonObject, numberOf, parseJsonText, printJson } from "../../src/json/lossless.ts";

describe("parse and print", () => {
  it.each([
    "9007199254740993",
    "-0",
    "1.10",
    "1e400",
    "1E2",
    '{"a":[12345678901234567890,{"b":0.10}]}',
    '"\\ud83c"',
  ])("BH-28: %s prints as it was read", (text) => {
    expect(printJson(parseJsonText(text) ?? null)).toBe(text);
  });

  it("agrees with JSON.parse on what is JSON, and keeps every value", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        const parsed = parseJsonText(text);
        expect(parsed).not.toBeUndefined();
        expect(JSON.parse(printJson(parsed ?? null))).toStrictEqual(JSON.parse(text));
      }),
    );
    for (const text of ["", "{", "{}x", "[1,]", "01", "nul"]) expect(parseJsonText(text)).toBeUndefined();
    expect(parseJsonText("[".repeat(100_000))).toBeUndefined();
  });

  it("tells kept numbers from objects", () => {
    const kept = parseJsonText("9007199254740993");
    expect(isJsonObject(kept)).toBe(false);
    expect(isJsonNumber(kept) && numberOf(kept)).toBe(9007199254740992);
    expect(isJsonObject(parseJsonText('{"rawJSON":"1"}'))).toBe(true);
  });
});

describe("progress", () => {
  it("is complete exactly when the object is closed, in any pieces", () => {
    fc.assert(
      fc.property(fc.object({ maxDepth: 2 }), fc.nat(), (value, at) => {
        const text = JSON.stringify(value);
        const progress = new JsonProgress();
        const place = at % text.length;
        progress.push(text.slice(0, place));
        expect(progress.complete).toBe(false);
        progress.push(text.slice(place));
        expect(progress.complete).toBe(true);
      }),
    );
  });
});
