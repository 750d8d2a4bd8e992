import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parseJson } from "../src/decode/parse-json.ts";
import { parseText, parseYaml } from "../src/decode/parse-text.ts";

/** What is no object or list is left to the parser of YAML. */
const json = fc.oneof(
  fc.object({ withNullPrototype: false, maxDepth: 4 }),
  fc.array(fc.jsonValue(), { maxLength: 5 }),
);
const written = fc.record({ value: json, indent: fc.nat(3) }).map(({ value, indent }) => ({
  text: JSON.stringify(value, undefined, indent),
}));

describe("JSON text", () => {
  it("is read as YAML would read it", () => {
    fc.assert(
      fc.property(written, ({ text }) => {
        expect(parseJson(text)?.data).toEqual(parseYaml(text).data);
      }),
    );
  });

  it.each([
    '{"a":1,"a":2}',
    '{"a":{"b":[{"c":1,"d":2,"c":3}]}}',
    String.raw`{"a":1,"\u0061":2}`,
    '{"a:\\"":{},"b":1,"b":"x:y"}',
  ])("that names something twice is refused with its place: %s", (text) => {
    expect(parseJson(text)).toBeUndefined();
    expect(parseText(text).faults).toMatchObject([{ message: "is given twice in the same mapping" }]);
  });

  it.each(['{"a":1', '{"a":1}}', "{'a':1}", "{a: 1}", '{"a":\n"b":1}', '"a"', "a: 1", ""])(
    "what is none is left to the parser of YAML: %j",
    (text) => {
      expect(parseJson(text)).toBeUndefined();
      expect(parseText(text)).toEqual(parseYaml(text));
    },
  );

  it("with a fault is told by line and column, as ever", () => {
    expect(parseText('{\n  "a": 1,\n  "b": ]\n}').faults[0]?.path).toMatch(/^3:/);
  });

  it("as YAML has one fault for a line, in order", () => {
    const text = 'a: [1\nb: {c\nd: "x';
    const lines = parseText(text).faults.map(({ path }) => Number(path.split(":", 1)[0]));
    expect(lines).toEqual([2, 3]);
  });

  it("with escapes and colons in its texts has no more names than it has", () => {
    const value = { 'a":': 'x\\":{', "\\": ["::", { "": "\u2028:" }] };
    expect(parseJson(JSON.stringify(value))).toEqual({ data: value });
  });

  it("absurdly nested is no fault of the parser's", () => {
    const deep = `{"a":${"[".repeat(200_000)}${"]".repeat(200_000)}}`;
    expect(() => parseText(deep)).not.toThrow();
  });
});
