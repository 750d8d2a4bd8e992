import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { affinityValue, expressionHash, hashKey, parseExpression, selectorReads } from "../src/index.ts";

const parsed = (source: string) => {
  const result = parseExpression(source);
  if (!result.ok) throw new Error(result.message);
  return result.selector;
};

describe("expressions", () => {
  it.each([
    ['request.headers.get("X-End-User-Id")', { from: "header", name: "x-end-user-id" }, "request"],
    ["request.headers.get('x-tenant')", { from: "header", name: "x-tenant" }, "request"],
    ['request . query\n. get ( "Tenant" )', { from: "query", name: "Tenant" }, "request"],
    ["request.params.account", { from: "param", name: "account" }, "request"],
    ["request.user.sub", { from: "user_sub" }, "key"],
    ["request.user.data.a.b", { from: "user_data", path: ["a", "b"] }, "key"],
    ['context.custom["a-b"].c', { from: "custom", path: ["a-b", "c"] }, "key"],
    ['context["custom"].x', { from: "custom", path: ["x"] }, "key"],
  ])("F5 %s selects", (source, selector, reads) => {
    expect(parsed(source)).toEqual(selector);
    expect(selectorReads(parsed(source))).toBe(reads);
  });

  it.each([
    ["", 0, '"request" or "context"'],
    ["req.user.sub", 0, '"req"'],
    ["request", 7, "the expression ends"],
    ["request.body.x", 8, '"body"'],
    ["request.user", 12, '"."'],
    ["request.user.name", 13, '"sub" or "data"'],
    ["request.user.data", 17, "a property"],
    ["request.user.sub.toLowerCase()", 16, "the end"],
    ["request.user.sub + 'x'", 17, '"+"'],
    ["request.headers.x", 16, '"get"'],
    ["request.headers.get(x)", 20, "a name in quotes"],
    ['request.headers.get("x"', 23, '")"'],
    ['request.headers.get("x', 20, "a name in quotes"],
    ['request.headers.get("a b")', 20, "the name of a header"],
    ["request.params", 14, '"."'],
    ["request..user", 8, "a property"],
    ["context.custom[0]", 15, "a name in quotes"],
    ["context.custom.ä", 15, "a property"],
  ])("F5 %j is refused at %i", (source, position, says) => {
    const result = parseExpression(source);
    expect(result).toMatchObject({ ok: false, at: position });
    expect(result.ok ? "" : result.message).toContain(says);
  });

  it.each([
    "context.requestId",
    "context.traceId",
    "request.id",
    "request.requestId",
    'request.headers.get("X-Request-Id")',
    'request.headers.get("traceparent")',
  ])("F5 %s differs from request to request and is refused", (source) => {
    expect(parseExpression(source)).toMatchObject({ ok: false });
    if (source !== "request.id") {
      expect(parseExpression(source)).toMatchObject({
        message: expect.stringContaining("request to request"),
      });
    }
  });

  it("F5 at most 1,024 bytes and 32 segments", () => {
    const name = (bytes: number) => `request.params["${"é".repeat((bytes - 18) / 2)}"]`;
    expect(parseExpression(name(1_024)).ok).toBe(true);
    expect(parseExpression(name(1_026))).toMatchObject({
      ok: false,
      message: expect.stringContaining("1024"),
    });
    const deep = (segments: number) => `request.user.data${".a".repeat(segments - 2)}`;
    expect(parseExpression(deep(32)).ok).toBe(true);
    expect(parseExpression(deep(33))).toMatchObject({ ok: false, at: deep(33).length - 1 });
  });

  it("F5 the parser always ends with a selector or a place inside the expression", () => {
    const piece = fc.constantFrom(
      "request",
      "context",
      ".",
      "user",
      "data",
      "[",
      '"x"',
      "]",
      "(",
      ")",
      "get",
      " ",
    );
    const text = fc.oneof(
      fc.string(),
      fc.array(piece).map((parts) => parts.join("")),
    );
    fc.assert(
      fc.property(text, (source) => {
        const result = parseExpression(source);
        if (result.ok) return;
        expect(result.at).toBeGreaterThanOrEqual(0);
        expect(result.at).toBeLessThanOrEqual(source.length);
      }),
    );
  });

  it("F5 selects from the request, own data only", () => {
    const request = {
      header: (name: string) => (name === "x-a" ? "v" : undefined),
      query: (name: string) => (name === "q" ? "w" : undefined),
      param: () => undefined,
    };
    expect(expressionHash(parsed('request.headers.get("X-A")'), request)).toEqual({ hash: hashKey("v") });
    expect(expressionHash(parsed('request.query.get("q")'), request)).toEqual({ hash: hashKey("w") });
    expect(expressionHash(parsed("request.params.p"), request)).toBeUndefined();
    expect(expressionHash(parsed("request.user.data.constructor"), request)).toBeUndefined();
  });
});

describe("values", () => {
  it.each([
    ["Acme", "Acme"],
    ["e\u0301", "\u00e9"],
    ["a\ud800b", "a\ufffdb"],
    [42, "42"],
    [-7, "-7"],
    ["x".repeat(256), "x".repeat(256)],
  ])("F6 %j is a key", (value, text) => {
    expect(affinityValue(value)).toEqual({ ok: true, text });
  });

  it.each([
    [""],
    [undefined],
    [null],
    [-0],
    [1.5],
    [Number.NaN],
    [2 ** 53],
    [true],
    [{}],
    [["a"]],
    ["x".repeat(257)],
    ["é".repeat(129)],
    ["x".repeat(100_000)],
    ["a\nb"],
    ["a\u0085b"],
    ["a\u2028b"],
    ["a\u2029b"],
  ])("F6, F7 %j is none, and the reason does not show it", (value) => {
    const result = affinityValue(value);
    expect(result.ok).toBe(false);
    if (!result.ok && typeof value === "string" && value !== "") expect(result.why).not.toContain(value);
  });

  it("F6 is case-sensitive, and the same text in two forms is one key", () => {
    const text = (value: string) => {
      const result = affinityValue(value);
      return result.ok ? result.text : "";
    };
    expect(text("acme")).not.toBe(text("Acme"));
    expect(text("caf\u00e9")).toBe(text("cafe\u0301"));
  });
});
