import { Fields } from "@switchyard/http1";
import { describe, expect, test } from "vitest";
import { codeOf, connectError, ExchangeError, exchangeFailure } from "../src/errors.ts";
import { requestHeaders, responseHeaders } from "../src/headers.ts";

function fieldsOf(entries: Readonly<Record<string, string | string[]>>): Fields {
  const fields = new Fields();
  for (const [name, value] of Object.entries(entries)) {
    for (const one of [value].flat()) {
      fields.names.push(name);
      fields.values.push(one);
    }
  }
  return fields;
}

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
      fieldsOf({
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
      }),
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
    expect(
      responseHeaders(fieldsOf({ "content-encoding": "gzip", "content-length": "9", "x-a": "1" }), true),
    ).toEqual(["x-a", "1"]);
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
    expect(exchangeFailure("ECONNRESET", false).phase).toBe("before_headers");
    expect(exchangeFailure("ECONNRESET", true).phase).toBe("body");
    expect(exchangeFailure("EPIPE", false).phase).toBe("send");
  });

  test("invariant 9: a message holds the phase's words and a code, never what the cause said", () => {
    expect(codeOf({ code: "key=SECRET value" })).toBeUndefined();
    const cause = Object.assign(new Error("GET /?key=SECRET"), { code: "ECONNRESET" });
    const error = exchangeFailure(codeOf(cause), false);
    expect(error.message).toBe("the connection ended before response headers (ECONNRESET)");
    expect(error).toBeInstanceOf(ExchangeError);
    expect(error.cause).toBeUndefined();
  });
});
