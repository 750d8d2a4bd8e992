import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseRequestHead, requestHead } from "../src/index.ts";

describe("request heads", () => {
  test("any text is either refused or read back as the one request it was", () => {
    const text = fc.oneof(
      fc.string({ maxLength: 12 }),
      fc.string({ maxLength: 12, unit: "binary" }),
      fc.constantFrom("a", "x-a", "a\r\nb: c", "a\nb", "a\0", "a b", "a:", "é", "模", ""),
    );
    fc.assert(
      fc.property(text, text, fc.array(fc.tuple(text, text), { maxLength: 3 }), (method, path, fields) => {
        for (const verb of [method, "POST"]) {
          const head = requestHead(verb, `/${path}`, "h", fields.flat());
          if (head === undefined) continue;
          const back = parseRequestHead(head.slice(0, -2));
          expect(back).toMatchObject({ method: verb, path: `/${path}` });
          expect(back?.fields.names.slice(2)).toEqual(fields.map(([name]) => name.toLowerCase()));
          expect(back?.fields.values.slice(2)).toEqual(
            fields.map(([, value]) => value.replaceAll(/^[ \t]+|[ \t]+$/g, "")),
          );
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ["CONNECT", "/", "a", "b"],
    ["GET ", "/", "a", "b"],
    ["GET", "/ HTTP/1.1\r\nx: y", "a", "b"],
    ["GET", "/a b", "a", "b"],
    ["GET", "http://x/", "a", "b"],
    ["GET", "", "a", "b"],
    ["GET", "/", "a b", "c"],
    ["GET", "/", "a", "b\r\nc: d"],
    ["GET", "/", "a", "b\nc"],
    ["GET", "/", "a", "b\0"],
    ["GET", "/", "a", "模"],
    ["GET", "/", "", "b"],
  ])("%j %j with %j: %j is refused", (method, path, name, value) => {
    expect(requestHead(method, path, "h", [name, value])).toBeUndefined();
  });

  test("a value is one byte a character", () => {
    expect(requestHead("GET", "/", "h", ["a", "é"])).toBe(
      "GET / HTTP/1.1\r\nhost: h\r\nconnection: keep-alive\r\na: é\r\n",
    );
  });
});
