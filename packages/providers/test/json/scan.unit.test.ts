import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { KeyTable } from "../../src/json/key-table.ts";
import { KeySlots, readString, readValue, scanDocument, walkArray } from "../../src/json/scan.ts";
import { MAX_DEPTH } from "../../src/json/skip.ts";
import { splice } from "../../src/json/splice.ts";

const TABLE = new KeyTable(["model", "stream", "a", "ключ", "__proto__"], "model");
const KEYS = ["model", "stream", "a", "ключ"];
const slots = new KeySlots(TABLE);
const encoder = new TextEncoder();

type Reading = Record<string, unknown> | "refused";

/** What a parser reads for the table's keys. */
function parse(bytes: Uint8Array): Reading {
  try {
    const value: unknown = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
    if (typeof value !== "object" || value === null || Array.isArray(value)) return "refused";
    return Object.fromEntries(Object.entries(value).filter(([key]) => KEYS.includes(key)));
  } catch {
    return "refused";
  }
}

function scan(bytes: Uint8Array): Reading {
  if (!scanDocument(bytes, TABLE, slots)) return "refused";
  const found = [...KEYS.entries()].filter(([index]) => slots.has(index));
  return Object.fromEntries(
    found.map(([index, key]) => [key, readValue(bytes, slots.start(index), slots.end(index))]),
  );
}

const space = fc.stringMatching(/^[ \t\r\n]{0,3}$/);
const key = fc.oneof(
  fc.constantFrom(...KEYS, "Model", "mode", "models", "__proto__"),
  fc.string({ unit: "grapheme" }),
);
const leaf = fc.oneof(
  fc.string({ unit: "binary" }),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.integer(),
  fc.constantFrom(null, true, false),
);

/** A string as some writer may spell it: any character may be an escape. */
const spelled = (text: string): fc.Arbitrary<string> =>
  fc.array(fc.boolean(), { minLength: text.length, maxLength: text.length }).map((escapes) => {
    let written = "";
    for (let place = 0; place < text.length; place++) {
      const unit = text.charCodeAt(place);
      const alone = unit < 0x20 || unit === 0x22 || unit === 0x5c || (unit >= 0xd800 && unit <= 0xdfff);
      written +=
        escapes[place] === true || alone ? `\\u${unit.toString(16).padStart(4, "0")}` : text.charAt(place);
    }
    return `"${written}"`;
  });

const { value: json } = fc.letrec<{ value: string; object: string }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    leaf.chain((value) => (typeof value === "string" ? spelled(value) : fc.constant(JSON.stringify(value)))),
    fc
      .tuple(fc.array(tie("value"), { maxLength: 4 }), space)
      .map(([items, gap]) => `[${gap}${items.join(`${gap},`)}${gap}]`),
    tie("object"),
  ),
  object: fc
    .array(fc.tuple(key.chain(spelled), tie("value"), space), { maxLength: 6 })
    .map(
      (members) =>
        `{${members.map(([name, value, gap]) => `${gap}${name}${gap}:${gap}${value}${gap}`).join(",")}}`,
    ),
}));
const document = fc
  .array(fc.tuple(key.chain(spelled), json, space), { maxLength: 8 })
  .map(
    (members) =>
      `{${members.map(([name, value, gap]) => `${gap}${name}${gap}:${gap}${value}${gap}`).join(",")}}`,
  );

describe("scanDocument against JSON.parse", () => {
  it("reads the same values from any valid document", () => {
    fc.assert(
      fc.property(document, space, space, (text, before, after) => {
        const bytes = encoder.encode(before + text + after);
        expect(parse(bytes)).not.toBe("refused");
        expect(scan(bytes)).toStrictEqual(parse(bytes));
      }),
      { numRuns: 400 },
    );
  });

  it("accepts and refuses the same mutated documents", () => {
    const anyByte = fc.oneof(
      fc.constantFrom(...encoder.encode('{}[]",:\\tfn0123456789.eE+-u \n\r\t')),
      fc.constantFrom(0, 0x1f, 0x7f, 0x80, 0xbf, 0xc0, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5, 0xff, 0xa0),
    );
    const mutation = fc.tuple(fc.nat(), fc.constantFrom("replace", "insert", "remove"), anyByte);
    fc.assert(
      fc.property(document, fc.array(mutation, { minLength: 1, maxLength: 3 }), (text, mutations) => {
        const bytes = [...encoder.encode(text)];
        for (const [where, kind, byte] of mutations) {
          bytes.splice(
            where % (bytes.length + 1),
            kind === "insert" ? 0 : 1,
            ...(kind === "remove" ? [] : [byte]),
          );
        }
        const mutated = Uint8Array.from(bytes);
        expect(scan(mutated)).toStrictEqual(parse(mutated));
      }),
      { numRuns: 2000 },
    );
  });

  it("accepts and refuses the same strings, byte by byte", () => {
    const piece = fc.oneof(
      fc.uint8Array({ minLength: 1, maxLength: 4 }),
      fc
        .constantFrom("\\n", "\\u0041", "\\ud83c", "\\x", "\\u12", "é", "你", "🌍", "x")
        .map((text) => encoder.encode(text)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 4 }), (pieces) => {
        const bytes = Uint8Array.from([
          ...encoder.encode('{"a":"'),
          ...pieces.flatMap((part) => [...part]),
          0x22,
          0x7d,
        ]);
        expect(scan(bytes)).toStrictEqual(parse(bytes));
      }),
      { numRuns: 2000 },
    );
  });

  it.each([
    '{"a":01}',
    '{"a":-}',
    '{"a":-0}',
    '{"a":1.}',
    '{"a":.5}',
    '{"a":1e}',
    '{"a":1e+}',
    '{"a":1E-07}',
    '{"a":+1}',
    '{"a":0x1}',
    '{"a":NaN}',
    '{"a":tru}',
    '{"a":truex}',
    '{"a":nul',
    '{"a":1,}',
    "{,}",
    '{"a"}',
    '{"a":}',
    "{'a':1}",
    '{"a":1}x',
    "{}",
    " {} ",
    "[]",
    "null",
    '"x"',
    "",
    " ",
    "{",
    '{"a":[1,]}',
    '{"a":[,]}',
    '{"a":[1 2]}',
    '{"a":"\t"}',
    '{"a":"\u007f"}',
    '{"a":1}{}',
    '{"model":"x","mod\\u0065l":"y"}',
    '{"a":{"model":"inner"}}',
    '{"a":1/*c*/}',
    "\u00a0{}",
    '{"a":"\\',
    '{"a":"\\u',
    '\ufeff{"a":1}',
    '\ufeff\ufeff{"a":1}',
    ' \ufeff{"a":1}',
    '{"a":1}\ufeff',
    '{"__proto__":{"model":"x"}}',
    '{"model":1,"model":2,"model":"3"}',
  ])("%j comes out as from a parser", (text) => {
    expect(scan(encoder.encode(text))).toStrictEqual(parse(encoder.encode(text)));
  });

  it("refuses nesting beyond its bound, which a parser would take", () => {
    const nested = (depth: number): Uint8Array =>
      encoder.encode(`{"a":${"[".repeat(depth)}${"]".repeat(depth)}}`);
    expect(scan(nested(MAX_DEPTH - 1))).not.toBe("refused");
    expect(scan(nested(MAX_DEPTH))).toBe("refused");
    expect(scan(nested(1_000_000))).toBe("refused");
  });

  it("tells other-case spellings of a folded key apart from the key", () => {
    for (const text of ['{"Model":1}', '{"MODEL":1}', '{"\\u004dodel":1}']) {
      expect(scanDocument(encoder.encode(text), TABLE, slots)).toBe(true);
      expect([slots.has(0), slots.has(5)]).toStrictEqual([false, true]);
    }
  });
});

describe("reading ranges", () => {
  it("reads strings with and without escapes", () => {
    for (const value of ["", "plain", 'q"\\\n', "你好 🌍", "x".repeat(100)]) {
      const bytes = encoder.encode(JSON.stringify(value));
      expect(readString(bytes, 0, bytes.length)).toBe(value);
    }
  });

  it("walks the elements of an array", () => {
    const bytes = encoder.encode('[ 1 ,"a,]", [2,3] ,{"x":[]}]');
    const elements: unknown[] = [];
    walkArray(bytes, 0, bytes.length, (start, end) => {
      elements.push(readValue(bytes, start, end));
      return true;
    });
    expect(elements).toStrictEqual([1, "a,]", [2, 3], { x: [] }]);
  });

  it("splices edits of any size in order", () => {
    const bytes = encoder.encode("0123456789");
    const edits = [
      { start: 0, end: 0, replacement: encoder.encode("<") },
      { start: 2, end: 5, replacement: encoder.encode("") },
      { start: 9, end: 10, replacement: encoder.encode("nine") },
    ];
    expect(new TextDecoder().decode(splice(bytes, edits))).toBe("<015678nine");
    expect(splice(bytes, [])).toStrictEqual(bytes);
  });
});
