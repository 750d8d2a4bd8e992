import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { closedPrefix } from "../../src/json/closed-prefix.ts";

describe("JSON that was cut off", () => {
  it.each([
    ["", ""],
    ["{", "{}"],
    ['{"city": "San Fr', "{}"],
    ['{"a": 1', "{}"],
    ['{"a": 1,', '{"a": 1}'],
    ['{"a": tr', "{}"],
    ['{"a": "x", "b', '{"a": "x"}'],
    ['{"a": "x\\"}", "b": [1, 2', '{"a": "x\\"}", "b": [1]}'],
    ['{"a": {"b": [{"c": null}, ', '{"a": {"b": [{"c": null}]}}'],
    ['{"a": "x\\', "{}"],
    ['{"a": {}} ', '{"a": {}}'],
  ])("%s is %s", (json, kept) => {
    expect(closedPrefix(json)).toBe(kept);
  });

  it("is JSON wherever it was cut, and as it was where it was not", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), fc.boolean(), (value, cut, wide) => {
        const json = wide ? JSON.stringify(value, null, 2) : JSON.stringify(value);
        expect(JSON.parse(closedPrefix(json))).toStrictEqual(JSON.parse(json));
        const start = 1 + (cut % json.length);
        expect(() => JSON.parse(closedPrefix(json.slice(0, start))) as unknown).not.toThrow();
      }),
    );
  });
});
