import { describe, expect, test } from "vitest";
import { contentLength, parseRequestHead, parseResponseHead } from "../src/index.ts";

describe("heads", () => {
  test("fields come in lower case, trimmed", () => {
    const head = parseRequestHead(
      "POST /a HTTP/1.1\r\nHost: x\r\nContent-Type:  application/proto \r\nEmpty:",
    );
    expect([head?.method, head?.path, head?.fields.get("content-type"), head?.fields.get("empty")]).toEqual([
      "POST",
      "/a",
      "application/proto",
      "",
    ]);
  });

  test.each([
    "POST /a HTTP/1.0\r\nhost: x",
    "POST a HTTP/1.1\r\nhost: x",
    "POST  /a HTTP/1.1\r\nhost: x",
    "POST /a HTTP/1.1\r\nhost : x",
    "POST /a HTTP/1.1\r\n host: x",
    "POST /a HTTP/1.1\r\nhost: x\ny: z",
    "POST /a HTTP/1.1\r\nhost: x\r\n\tfolded",
    "POST /a HTTP/1.1\r\nnothing",
    "PRI * HTTP/2.0",
  ])("%j is not for this reader", (text) => {
    expect(parseRequestHead(text)).toBeUndefined();
  });

  test.each(["HTTP/1.1 20 OK", "http/1.1 200 OK", "HTTP/1.1 200 OK\r\n: x"])("%j is no answer", (text) => {
    expect(parseResponseHead(text)).toBeUndefined();
  });

  test.each([
    ["content-length: 5", 5],
    ["content-length: 5\r\ncontent-length: 5", "bad"],
    ["content-length: +5", "bad"],
    ["content-length: 5, 5", "bad"],
    ["content-length: 0x5", "bad"],
    ["a: b", undefined],
  ])("%j has the length %s", (fields, length) => {
    const head = parseResponseHead(`HTTP/1.1 200 OK\r\n${fields}`);
    expect(head && contentLength(head.fields)).toBe(length);
  });
});
