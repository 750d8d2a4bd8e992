import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeKey, encodeKey } from "../src/key-codec.ts";
import { subjectMatches } from "../src/subjects.ts";

describe("encodeKey", () => {
  it("is reversible and legal for any string", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 100 }), (key) => {
        const encoded = encodeKey(key);
        expect(encoded).toMatch(/^[-=\w]+$/);
        expect(decodeKey(encoded)).toBe(key);
      }),
    );
  });

  it("leaves plain keys readable and tells a lone surrogate from its replacement", () => {
    expect(encodeKey("openai_gpt-4.1")).toBe("openai_gpt-4=2E1");
    expect(encodeKey("\ud800")).not.toBe(encodeKey("\ufffd"));
    expect(decodeKey(encodeKey("\ud800"))).toBe("\ud800");
  });
});

describe("subjectMatches", () => {
  const token = fc.constantFrom<string>("a", "b", "c");
  const subject = fc.array(token, { minLength: 1, maxLength: 4 });

  it("knows a subject by itself, by `*` for any of its tokens, and by `>` for any rest", () => {
    fc.assert(
      fc.property(subject, fc.nat(3), (tokens, n) => {
        const index = n % tokens.length;
        const text = tokens.join(".");
        expect(subjectMatches(text, text)).toBe(true);
        expect(subjectMatches(tokens.with(index, "*").join("."), text)).toBe(true);
        expect(subjectMatches([...tokens.slice(0, index), ">"].join("."), text)).toBe(true);
        expect(subjectMatches(`${text}.>`, text)).toBe(false);
        expect(subjectMatches(`${text}.*`, text)).toBe(false);
        expect(subjectMatches(text, `${text}.a`)).toBe(false);
      }),
    );
  });
});
