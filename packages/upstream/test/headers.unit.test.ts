import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contentCodings } from "../src/codings.ts";
import { codeOf, connectError, ExchangeError, exchangeFailure } from "../src/errors.ts";
import { requestHeaders, responseHeaders } from "../src/headers.ts";
import { InterimFilter } from "../src/interim-filter.ts";

describe("request headers", () => {
  test("P9: a list without our own headers is passed on as it is, not copied", () => {
    const headers = ["Content-Type", "application/json", "authorization", "Bearer k"];
    expect(requestHeaders(headers)).toBe(headers);
  });

  test("P9, BH-36: hop-by-hop headers, those that Connection names, host, framing, expect and cookies stay here", () => {
    const kept = requestHeaders([
      "Connection",
      "keep-alive, X-Hop-Secret",
      "X-Hop-Secret",
      "hop-123",
      "Proxy-Authorization",
      "Basic eA==",
      "TE",
      "trailers",
      "Upgrade",
      "h2c",
      "Keep-Alive",
      "timeout=9",
      "Host",
      "other",
      "Expect",
      "100-continue",
      "Content-Length",
      "3",
      "Transfer-Encoding",
      "chunked",
      "Cookie",
      "sid=abc",
      "Accept",
      "*/*",
    ]);
    expect(kept).toEqual(["Accept", "*/*"]);
  });
});

describe("response headers", () => {
  test("BH-36: hop-by-hop headers, those that Connection names, and cookies are left out; repeated ones stay", () => {
    const kept = responseHeaders(
      {
        "content-type": "text/plain",
        connection: "close, X-Up-Hop",
        "x-up-hop": "z",
        "keep-alive": "timeout=5",
        "proxy-authenticate": "Basic",
        "proxy-connection": "close",
        te: "trailers",
        trailer: "X-T",
        "transfer-encoding": "chunked",
        upgrade: "h2c",
        "set-cookie": ["up=1", "b=2"],
        vary: ["a", "b"],
        "content-length": "2",
        "content-encoding": "zebra",
      },
      false,
    );
    expect(kept).toEqual([
      "content-type",
      "text/plain",
      "vary",
      "a",
      "vary",
      "b",
      "content-length",
      "2",
      "content-encoding",
      "zebra",
    ]);
  });

  test("BH-38: a decoded body's coding and length are left out", () => {
    expect(responseHeaders({ "content-encoding": "gzip", "content-length": "9", "x-a": "1" }, true)).toEqual([
      "x-a",
      "1",
    ]);
  });
});

describe("content codings", () => {
  test.each([
    [undefined, null],
    ["zebra", null],
    ["gzip, zebra", null],
    ["constructor", null],
    ["", null],
    ["gzip, gzip, gzip, gzip", null],
    ["identity", null],
    ["identity, gzip", ["gzip"]],
    ["X-GZIP", ["gzip"]],
    ["gzip, br", ["br", "gzip"]],
    [
      ["deflate", "zstd"],
      ["zstd", "deflate"],
    ],
  ])("%j is undone as %j", (value, expected) => {
    expect(contentCodings(value)).toEqual(expected);
  });
});

describe("errors", () => {
  test("E1: system errors before the connection stands fall into dns, connect and tls", () => {
    const lookup = Object.assign(new Error("x"), { code: "ENOTFOUND", syscall: "getaddrinfo" });
    expect(connectError(lookup, false)).toMatchObject({ phase: "dns", code: "ENOTFOUND" });
    const refused = Object.assign(new Error("x"), { code: "ECONNREFUSED", syscall: "connect" });
    expect(connectError(refused, false)).toMatchObject({ phase: "connect", code: "ECONNREFUSED" });
    expect(connectError(Object.assign(new Error("x"), { code: "DEPTH" }), true).phase).toBe("tls");
  });

  test("E1: after the connection, the response head parts before_headers from body", () => {
    const reset = Object.assign(new Error("x"), { code: "ECONNRESET" });
    expect(exchangeFailure(reset, false).phase).toBe("before_headers");
    expect(exchangeFailure(reset, true).phase).toBe("body");
    expect(exchangeFailure(Object.assign(new Error("x"), { code: "EPIPE" }), false).phase).toBe("send");
  });

  test("invariant 9: a message holds the phase's words and a code, never what the cause said", () => {
    expect(codeOf({ code: "key=SECRET value" })).toBeUndefined();
    const error = exchangeFailure(
      Object.assign(new Error("GET /?key=SECRET"), { code: "ECONNRESET" }),
      false,
    );
    expect(error.message).toBe("the connection ended before response headers (ECONNRESET)");
    expect(error).toBeInstanceOf(ExchangeError);
    expect(error.cause).toBeUndefined();
  });
});

describe("interim heads", () => {
  const CONTINUE = "HTTP/1.1 100 Continue\r\nx: y\r\n\r\n";
  const FINAL = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";

  test("100 heads are taken out however the bytes are cut, and nothing else is changed", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 3 }),
        fc.constantFrom(FINAL, "HTTP/1.1 103 Early\r\n\r\n", "garbage", "HTTP/1.1 1000"),
        fc.array(fc.integer({ min: 1, max: 20 })),
        (interims, rest, cuts) => {
          const filter = new InterimFilter();
          filter.expectHead();
          expect(filter.byteSeen).toBe(false);
          let bytes = Buffer.from(CONTINUE.repeat(interims) + rest);
          let out = "";
          for (const cut of [...cuts, bytes.length]) {
            if (bytes.length > 0) {
              out += filter.pass(bytes.subarray(0, cut))?.toString() ?? "";
              bytes = bytes.subarray(cut);
            }
          }
          expect(out).toBe(rest === "garbage" ? "garbage" : rest === "HTTP/1.1 1000" ? "" : rest);
          expect(filter.byteSeen).toBe(true);
        },
      ),
      { numRuns: 200 },
    );
  });

  test("an interim head without an end is not held beyond its bound", () => {
    const filter = new InterimFilter();
    filter.expectHead();
    const endless = Buffer.from(`HTTP/1.1 100 ${"x".repeat(5000)}`);
    expect(filter.pass(endless)).toEqual(endless);
  });
});
