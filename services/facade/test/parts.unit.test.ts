import { expect, test } from "vitest";
import { Admission } from "../src/admission.ts";
import { BodyReader } from "../src/body-reader.ts";
import { errorBody, errorEvent, errorHeaders, OVERLOADED, refusal } from "../src/refusal.ts";
import { readRequestHead } from "../src/request-head.ts";
import { readResponseHead } from "../src/response-head.ts";
import { faceOf, findNativeRoute, findRoute, splitTarget, suggestPath } from "../src/routes.ts";

const raw = (...pairs: [string, string][]): string[] => pairs.flat();
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();

test.each([
  ["/v1/chat/completions", ["POST"]],
  ["/v1/embeddings", ["POST"]],
  ["/v1/responses", ["POST"]],
  ["/v1/messages", ["POST"]],
  ["/v1/messages/count_tokens", ["POST"]],
  ["/v1/models", ["GET", "HEAD"]],
  ["/v1/models/org/model%2Fa:b", ["GET", "HEAD"]],
  ["/v1/responses/resp_1", ["GET", "HEAD", "DELETE"]],
  ["/v1/responses/resp_1/input_items", ["GET", "HEAD"]],
  ["/v1/responses/resp_1/cancel", ["POST"]],
])("contracts 3: %s takes %j", (path, allow) => {
  expect(findRoute(path)?.allow).toEqual(allow);
});

test.each([
  "/",
  "/v1",
  "/v1/models/",
  "/v1/responses/",
  "/v1/responses//cancel",
  "/v1/responses/a/b",
  "/v1/chat",
  "/V1/models",
  "/api/hello",
])("contracts 3: %s is no path", (path) => {
  expect(findRoute(path)).toBeUndefined();
});

test("H3: the shape of errors follows the path, served or not", () => {
  expect(faceOf("/v1/messages/batches")).toBe("anthropic");
  expect(faceOf("/v1/messagesX")).toBe("openai");
  expect(faceOf("/v1/responses/a/b")).toBe("responses");
});

test("a native endpoint is posted to, and only where the config names it", () => {
  const native = new Set(["/v1/systemone"]);
  expect(findNativeRoute("/v1/systemone", native)).toEqual({ face: "openai", allow: ["POST"] });
  expect(findNativeRoute("/v1/systemone/more", native)).toBeUndefined();
  expect(findNativeRoute("/v1/other", native)).toBeUndefined();
});

test("a base URL without /v1, or with two, is told the right path", () => {
  expect(suggestPath("/chat/completions")).toBe("/v1/chat/completions");
  expect(suggestPath("/v1/v1/messages")).toBe("/v1/messages");
  expect(suggestPath("/v1/v1/v1/models")).toBe("/v1/models");
  expect(suggestPath("/responses/resp_1")).toBe("/v1/responses/resp_1");
  expect(suggestPath("/v1/nothing")).toBeUndefined();
});

test.each([
  ["/v1/messages?beta=true", "/v1/messages", "beta=true"],
  ["/v1/models/", "/v1/models", ""],
  ["/v1/models/?a=/b?c", "/v1/models", "a=/b?c"],
  ["/", "/", ""],
  ["http://host:80/v1/models?x", "/v1/models", "x"],
  ["http://host", "/", ""],
  ["http://host?q=1", "/", "q=1"],
  ["*", "*", ""],
])("target %s is path %s and query %j", (target, path, query) => {
  expect(splitTarget(target)).toEqual({ path, query });
});

test("BH-36, P9: hop-by-hop headers, what Connection names, credentials and cookies stay here", () => {
  const head = readRequestHead(
    raw(
      ["X-Hop-Secret", "hop-123"],
      ["Connection", "keep-alive, X-Hop-Secret"],
      ["Proxy-Authorization", "Basic cHJveHk6cHc="],
      ["TE", "trailers"],
      ["Trailer", "x"],
      ["Upgrade", "h2c"],
      ["Keep-Alive", "timeout=9"],
      ["Authorization", "Bearer ck-test-1"],
      ["x-api-key", "ck-test-1"],
      ["api-key", "ck-test-1"],
      ["Cookie", "sid=abc"],
      ["Expect", "100-continue"],
      ["Host", "h"],
      ["Content-Length", "2"],
      ["Content-Encoding", "gzip"],
      ["Accept-Encoding", "gzip"],
      ["Transfer-Encoding", "chunked"],
      ["Anthropic-Beta", "a"],
      ["X-Provider-Key", "openai=sk"],
      ["Anthropic-Beta", "b"],
    ),
  );
  expect(head.headers.map(({ name, value }) => [name, value])).toEqual([
    ["anthropic-beta", "a"],
    ["x-provider-key", "openai=sk"],
    ["anthropic-beta", "b"],
  ]);
  expect(head).toMatchObject({ key: "ck-test-1", contentLength: 2, contentEncoding: "gzip", chunked: true });
});

test.each([
  ["Authorization wins", raw(["x-api-key", "k2"], ["Authorization", "bearer  k1"]), "k1"],
  ["x-api-key", raw(["X-Api-Key", " k2 "]), "k2"],
  ["api-key", raw(["api-key", "k3"]), "k3"],
  ["no key in another scheme", raw(["Authorization", "Basic k1"]), undefined],
  ["another scheme beside a key", raw(["Authorization", "Basic k1"], ["api-key", "k3"]), "k3"],
  ["empty", raw(["Authorization", "Bearer "], ["x-api-key", ""]), undefined],
  ["not ASCII", raw(["x-api-key", "k\u00e9y"]), undefined],
])("key: %s", (_name, headers, key) => {
  expect(readRequestHead(headers).key).toBe(key);
});

test.each([
  ["req-1", "req-1"],
  ["a".repeat(128), "a".repeat(128)],
  ["a".repeat(129), undefined],
  ["two words", undefined],
  ["", undefined],
])("H2: a caller's request id %j is kept as %j", (given, kept) => {
  expect(readRequestHead(raw(["X-Request-Id", given])).requestId).toBe(kept);
});

test("P7: a body in one piece is not copied, one in several is joined once, and all is counted", () => {
  const admission = new Admission(1, 10);
  const whole = Buffer.from("abcd");
  const one = new BodyReader(10, admission);
  expect(one.push(whole)).toBeUndefined();
  expect(one.take()).toBe(whole);
  const two = new BodyReader(10, admission);
  two.push(Buffer.from("ab"));
  two.push(Buffer.from("cd"));
  expect(text(two.take())).toBe("abcd");
  const open = new BodyReader(3, admission);
  open.push(Buffer.from("ab"));
  expect(open.push(Buffer.from("cd"))).toBe("too_large");
  expect(new BodyReader(10, admission).push(Buffer.from("abc"))).toBe("overloaded");
  for (const reader of [one, two, open, one]) reader.release();
  expect(admission.bytes).toBe(0);
});

test("P7: a body of a told length is gathered as it comes, and the length is not believed before it does", () => {
  const admission = new Admission(1, 1000);
  const told = new BodyReader(1000, admission, 100);
  const expected: number[] = [];
  for (let sent = 0; sent < 100; sent += 10) {
    told.push(Buffer.alloc(10, sent));
    expected.push(...Buffer.alloc(10, sent));
  }
  const body = told.take();
  expect([...body]).toEqual(expected);
  expect(body.buffer.byteLength).toBe(100);
  const short = new BodyReader(1000, admission, 1000);
  for (const piece of ["ab", "cd", "ef"]) short.push(Buffer.from(piece));
  const little = short.take();
  expect(text(little)).toBe("abcdef");
  expect(little.buffer.byteLength).toBeLessThan(100);
  for (const reader of [told, short]) reader.release();
  expect(admission.bytes).toBe(0);
});

test("contracts 3: a refusal's headers", () => {
  expect(errorHeaders(OVERLOADED)).toEqual([
    "content-type",
    "application/json",
    "retry-after",
    "1",
    "retry-after-ms",
    "1000",
  ]);
  const metadata = {
    retry_after_ms: "6200.4",
    attempts: "[]",
    "header:x-ratelimit-limit-requests": "5",
    other: "x",
  };
  expect(errorHeaders({ ...OVERLOADED, metadata }).slice(2)).toEqual([
    "retry-after",
    "7",
    "retry-after-ms",
    "6201",
    "x-ants-attempts",
    "[]",
    "x-ratelimit-limit-requests",
    "5",
  ]);
});

test("x-should-retry: said by the service, else where the request is the caller's to mend", () => {
  const told = (status: number, metadata: Readonly<Record<string, string>> = {}): string | undefined => {
    const headers = errorHeaders({ status, code: "c", message: "m", metadata });
    const at = headers.indexOf("x-should-retry");
    return at < 0 ? undefined : headers[at + 1];
  };
  for (const status of [400, 401, 403, 404, 405, 413, 415]) expect(told(status)).toBe("false");
  for (const status of [408, 409, 429, 499, 500, 502, 503, 504]) expect(told(status)).toBeUndefined();
  expect(told(429, { should_retry: "false" })).toBe("false");
});

test("H3: error bodies in the caller's dialect", () => {
  const cause = { ...refusal(400, "invalid_request", "no"), metadata: { param: "model" } };
  expect(JSON.parse(text(errorBody("responses", cause, "r1")))).toEqual({
    error: { message: "no", type: "invalid_request_error", code: "invalid_request", param: "model" },
  });
  expect(JSON.parse(text(errorBody("anthropic", cause, "r1")))).toEqual({
    type: "error",
    error: { type: "invalid_request_error", message: "no" },
    request_id: "r1",
  });
});

test("E6: an error event closes an event that was left open, and no other", () => {
  const cause = refusal(502, "upstream_unreachable", "cut");
  const after = (sent: string): string => text(errorEvent("openai", cause, "r", Buffer.from(sent)));
  expect(after("data: {}\n\n")).toMatch(/^data: \{"error"/);
  expect(after("data: {}\r\n\r\n")).toMatch(/^data: \{"error"/);
  expect(after('data: {"id')).toMatch(/^\n\ndata: \{"error"/);
  expect(after("data: {}\n")).toMatch(/^\n\ndata: \{"error"/);
});

test("E6: the Responses error event goes on counting", () => {
  const sent = Buffer.from('data: {"sequence_number":6}\n\ndata: {"sequence_number": 7}\n\n');
  const event = text(errorEvent("responses", refusal(504, "upstream_timeout", "late"), "r", sent));
  expect(event.startsWith("event: error\ndata: ")).toBe(true);
  expect(JSON.parse(event.slice(19))).toEqual({
    type: "error",
    code: "upstream_timeout",
    message: "late",
    param: null,
    sequence_number: 8,
  });
});

test("BH-32: the number that the forwarder tells counts, also behind a ping that has none", () => {
  const cause = { ...refusal(502, "upstream_invalid_response", "cut"), metadata: { sequence: "5" } };
  expect(text(errorEvent("responses", cause, "r", Buffer.from(": ping\n\n")))).toContain(
    '"sequence_number":5',
  );
});

test("BH-36, BH-38: an answer's head loses framing and hop-by-hop headers", () => {
  const headers = ["Connection", "transfer-encoding", "trailer", "x-request-id", "retry-after"].map(
    (name) => ({
      $typeName: "switchyard.inference.v1.Header" as const,
      name: name.toLowerCase(),
      value: "v",
    }),
  );
  const head = { $typeName: "switchyard.inference.v1.Head" as const, status: 429, headers };
  expect(readResponseHead(head, "openai", "r1")?.headers).toEqual(["x-request-id", "r1", "retry-after", "v"]);
  expect(readResponseHead({ ...head, status: 101 }, "openai", "r1")).toBeUndefined();
});
