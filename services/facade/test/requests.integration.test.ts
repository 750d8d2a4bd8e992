import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { failure } from "@switchyard/rpc";
import { SILENT } from "@switchyard/telemetry";
import { eventually, freePort, rawRequest } from "@switchyard/testkit";
import { expect, test } from "vitest";
import { createFacade } from "../src/index.ts";
import { chunk, echo, errorOf, forEachLane, head, MAX_BODY, TRAILER } from "./support.ts";

const JSON_BODY = '{"model":"g","input":"ping","stream":false}';
const CHAT = "/v1/chat/completions";

forEachLane((bench) => {
  test("contracts 3: a request reaches Infer as it came, without what is ours", async () => {
    await using b = await bench();
    const answer = await b.ask(
      "POST",
      "/v1/messages/?beta=true",
      [
        ["Authorization", "Bearer ck-test-1"],
        ["x-request-id", "mine-1"],
        ["anthropic-beta", "x"],
      ],
      JSON_BODY,
    );
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe(JSON_BODY);
    expect(answer.header("x-request-id")).toBe("mine-1");
    expect(answer.header("content-length")).toBe(String(JSON_BODY.length));
    const { request, call } = b.received[0] ?? expect.unreachable();
    expect(request).toMatchObject({
      method: "POST",
      path: "/v1/messages",
      query: "beta=true",
      requestId: "mine-1",
    });
    expect(request.headers.map(({ name }) => name)).toEqual(["anthropic-beta"]);
    expect(call.header("authorization")).toBe("Bearer ck-test-1");
  });

  test("contracts 3: without a key the call is made without one, and the refusal is passed on (BH-34, K1)", async () => {
    await using b = await bench();
    b.handler = (_request, sink, call) => {
      expect(call.header("authorization")).toBeUndefined();
      const metadata = { retry_after_ms: "1500", "header:x-ratelimit-limit-requests": "5" };
      sink.fail(failure("rate_limit_exceeded", "slow down", { status: 429, metadata }));
    };
    const openAi = await b.ask("POST", CHAT, [], "{}");
    expect(openAi.status).toBe(429);
    expect(openAi.header("retry-after")).toBe("2");
    expect(openAi.header("x-ratelimit-limit-requests")).toBe("5");
    expect(openAi.header("content-type")).toBe("application/json");
    expect(errorOf(openAi)).toEqual({
      message: "slow down",
      type: "rate_limit_error",
      code: "rate_limit_exceeded",
      param: null,
    });
    const anthropic = await b.ask("POST", "/v1/messages", [["x-request-id", "r-9"]], "{}");
    expect(JSON.parse(anthropic.body.toString())).toEqual({
      type: "error",
      error: { type: "rate_limit_error", message: "slow down" },
      request_id: "r-9",
    });
  });

  test.each([
    ["GET", "/", 404, "not_found"],
    ["HEAD", "/api/hello", 404, undefined],
    ["POST", "/chat/completions", 404, "not_found"],
    ["GET", CHAT, 405, "method_not_allowed"],
    ["DELETE", "/v1/models", 405, "method_not_allowed"],
    ["OPTIONS", CHAT, 405, "method_not_allowed"],
  ])("contracts 3: %s %s is %i, and the connection goes on", async (method, path, status, code) => {
    await using b = await bench();
    const client = await b.open(rawRequest(method, path, []), { head: method === "HEAD" });
    const answer = await client.response();
    expect(answer.status).toBe(status);
    expect(answer.header("x-request-id")).toMatch(/^[0-9a-f-]{36}$/);
    if (code !== undefined) expect(errorOf(answer)["code"]).toBe(code);
    if (status === 405) expect(answer.header("allow")).toMatch(/POST|GET, HEAD/);
    if (path === "/chat/completions") expect(errorOf(answer)["message"]).toContain("/v1/chat/completions");
    await client.send(rawRequest(method, path, []));
    expect((await client.response()).status).toBe(status);
    expect(b.received).toHaveLength(0);
  });

  test("contracts 3: models, stored responses and native endpoints are called too; HEAD is a GET without a body", async () => {
    await using b = await bench({ nativePaths: () => new Set(["/v1/systemone"]) });
    b.handler = (_request, sink) => {
      sink.send(head(200, { "content-type": "application/json", "content-length": "2" }));
      sink.send(chunk("{}"));
      sink.send(TRAILER);
      sink.end();
    };
    const asked: [string, string][] = [
      ["GET", "/v1/models?limit=1000"],
      ["HEAD", "/v1/models/org/a%2Fb"],
      ["DELETE", "/v1/responses/resp_1"],
      ["GET", "/v1/responses/resp_1/input_items"],
      ["POST", "/v1/responses/resp_1/cancel"],
      ["POST", "/v1/systemone"],
    ];
    for (const [method, path] of asked) {
      const answer = await b.ask(method, path);
      expect([answer.status, answer.body.toString()]).toEqual([200, method === "HEAD" ? "" : "{}"]);
      expect(answer.header("content-length")).toBe("2");
    }
    expect(b.received.map(({ request }) => [request.method, request.path])).toEqual([
      ["GET", "/v1/models"],
      ["GET", "/v1/models/org/a%2Fb"],
      ["DELETE", "/v1/responses/resp_1"],
      ["GET", "/v1/responses/resp_1/input_items"],
      ["POST", "/v1/responses/resp_1/cancel"],
      ["POST", "/v1/systemone"],
    ]);
  });

  const RAW_ZSTD = Buffer.from(
    "28b52ffd202b5901007b226d6f64656c223a2267222c22696e707574223a2270696e67222c2273747265616d223a66616c73657d",
    "hex",
  );
  const LONG_ZSTD = Buffer.from(
    "KLUv/aBnDQMAKAEAeyJtb2RlbCI6ImciLCJzdHJlYW0iOmZhbHNlLCJpbnB1dCI6IgI1DEECNQxBEQAAIn0=",
    "base64",
  );
  const LONG = `{"model":"g","stream":false,"input":"${"A".repeat(200_000)}"}`;

  test.each([
    ["zstd", RAW_ZSTD, JSON_BODY],
    ["zstd", LONG_ZSTD, LONG],
    ["gzip", gzipSync(JSON_BODY), JSON_BODY],
    ["x-gzip", gzipSync(JSON_BODY), JSON_BODY],
    ["br", brotliCompressSync(JSON_BODY), JSON_BODY],
    ["deflate", deflateSync(JSON_BODY), JSON_BODY],
    ["deflate", deflateRawSync(JSON_BODY), JSON_BODY],
    ["gzip, br", brotliCompressSync(gzipSync(JSON_BODY)), JSON_BODY],
    ["identity", Buffer.from(JSON_BODY), JSON_BODY],
    ["gzip", Buffer.alloc(0), ""],
  ])("BH-39: a body in %s arrives decoded", async (coding, body, expected) => {
    await using b = await bench();
    const answer = await b.ask("POST", "/v1/responses", [["Content-Encoding", coding]], body);
    expect(answer.status).toBe(200);
    expect(answer.body.toString()).toBe(expected);
    const { request } = b.received[0] ?? expect.unreachable();
    expect(request.headers.some(({ name }) => name.startsWith("content-"))).toBe(false);
  });

  test.each([
    ["cut zstd", "zstd", RAW_ZSTD.subarray(0, 30), 400, "invalid_encoding"],
    ["no gzip", "gzip", Buffer.from("plain"), 400, "invalid_encoding"],
    ["unknown", "zebra", Buffer.from("x"), 415, "unsupported_encoding"],
    ["bomb", "gzip", gzipSync(Buffer.alloc(MAX_BODY + 1)), 413, "request_too_large"],
    [
      "bomb in a bomb",
      "gzip, zstd",
      zstdCompressSync(gzipSync(Buffer.alloc(64 * MAX_BODY, "a"))),
      413,
      "request_too_large",
    ],
    [
      "bomb under the inner coding",
      "gzip, br",
      brotliCompressSync(Buffer.alloc(MAX_BODY * 2)),
      413,
      "request_too_large",
    ],
  ])("BH-39: %s is refused, without a call", async (_name, coding, body, status, code) => {
    await using b = await bench();
    const answer = await b.ask("POST", "/v1/responses", [["Content-Encoding", coding]], body);
    expect([answer.status, errorOf(answer)["code"]]).toEqual([status, code]);
    expect(b.received).toHaveLength(0);
    expect((await b.metrics.render()).body).toContain(`switchyard_refusals_total{code="${code}"} 1`);
  });

  test("contracts 3: a declared length over the limit is refused at once, and a caller that sends on reads the answer", async () => {
    await using b = await bench();
    const client = await b.open(
      `POST ${CHAT} HTTP/1.1\r\nHost: h\r\nContent-Length: ${20 * MAX_BODY}\r\n\r\n`,
    );
    const answer = await client.response();
    expect([answer.status, errorOf(answer)["code"]]).toEqual([413, "request_too_large"]);
    for (let sent = 0; sent < 20; sent += 1) await client.send(Buffer.alloc(MAX_BODY));
    await client.send(rawRequest("POST", CHAT, [], JSON_BODY));
    expect((await client.response()).body.toString()).toBe(JSON_BODY);
  });

  test("contracts 3: a chunked body over the limit is refused, in Anthropic's shape on its path (BH-34)", async () => {
    await using b = await bench();
    const size = MAX_BODY / 2 + 1;
    const piece = Buffer.concat([
      Buffer.from(`${size.toString(16)}\r\n`),
      Buffer.alloc(size),
      Buffer.from("\r\n"),
    ]);
    const client = await b.open([
      "POST /v1/messages HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n",
      piece,
      piece,
      "0\r\n\r\n",
    ]);
    const answer = await client.response();
    expect([answer.status, errorOf(answer)["type"]]).toEqual([413, "request_too_large"]);
  });

  test("BH-36: Expect: 100-continue and Upgrade: h2c get an answer, on a connection that goes on", async () => {
    await using b = await bench();
    const client = await b.open(
      rawRequest("POST", CHAT, [
        ["Connection", "keep-alive, X-Hop-Secret, Upgrade, HTTP2-Settings"],
        ["X-Hop-Secret", "hop-123"],
        ["Upgrade", "h2c"],
        ["HTTP2-Settings", "AAMAAABkAAQAAP__"],
        ["TE", "trailers"],
        ["Expect", "100-continue"],
        ["Content-Length", String(JSON_BODY.length)],
      ]),
    );
    await client.send(JSON_BODY);
    const first = await client.response();
    expect([first.interim, first.status, first.body.toString()]).toEqual([[100], 200, JSON_BODY]);
    expect(b.received[0]?.request.headers).toEqual([]);
    await client.send(
      rawRequest(
        "POST",
        CHAT,
        [
          ["Upgrade", "h2c"],
          ["Connection", "Upgrade"],
        ],
        JSON_BODY,
      ),
    );
    expect((await client.response()).body.toString()).toBe(JSON_BODY);
  });

  test("Expect: 100-continue with too large a body is refused before it is sent", async () => {
    await using b = await bench();
    const client = await b.open(
      rawRequest("POST", CHAT, [
        ["Expect", "100-continue"],
        ["Content-Length", String(MAX_BODY + 1)],
      ]),
    );
    const answer = await client.response();
    expect([answer.interim, answer.status, answer.header("connection")]).toEqual([[], 413, "close"]);
  });

  test("BH-13: a body of 2 MiB in small writes arrives byte for byte, with and without its length told", async () => {
    await using b = await bench({ maxBodyBytes: 4 * MAX_BODY });
    const body = Buffer.from("你好 🌍".repeat(180_000)).subarray(0, 2 * MAX_BODY);
    const pieces: Buffer[] = [];
    for (let at = 0; at < body.length; at += 100_000) pieces.push(body.subarray(at, at + 100_000));
    const told = await b.open(rawRequest("POST", CHAT, [["Content-Length", String(body.length)]]), {
      gapMs: 1,
    });
    await told.send(pieces);
    expect((await told.response()).body.equals(body)).toBe(true);
    const framed = pieces.flatMap((piece) => [
      Buffer.from(`${piece.length.toString(16)}\r\n`),
      piece,
      Buffer.from("\r\n"),
    ]);
    const chunked = await b.open(rawRequest("POST", CHAT, [["Transfer-Encoding", "chunked"]]), { gapMs: 0 });
    await chunked.send([Buffer.concat(framed), "0\r\n\r\n"]);
    expect((await chunked.response()).body.equals(body)).toBe(true);
  });

  test("contracts 3: over the bound on requests or on held bytes is 503 overloaded, and room comes back", async () => {
    await using b = await bench({ maxConcurrentRequests: 1, maxBufferedBytes: 10 });
    b.handler = () => {};
    const holder = await b.open(rawRequest("POST", CHAT, [], "123456"));
    await eventually(() => expect(b.received).toHaveLength(1));
    const many = await b.ask("POST", CHAT, [], "1");
    expect([many.status, errorOf(many)["code"], many.header("retry-after")]).toEqual([
      503,
      "overloaded",
      "1",
    ]);
    await holder.close();
    b.handler = echo;
    await eventually(async () => expect((await b.ask("POST", CHAT, [], "1234567890")).status).toBe(200));
    const large = await b.ask("POST", "/v1/messages", [], "12345678901");
    expect([large.status, errorOf(large)["type"]]).toEqual([503, "overloaded_error"]);
    expect((await b.ask("POST", CHAT, [], "1234567890")).status).toBe(200);
  });

  test("BH-39: what comes out of each coding counts as held, and is given back", async () => {
    await using b = await bench({ maxBufferedBytes: 5000 });
    const bomb = brotliCompressSync(gzipSync(Buffer.alloc(MAX_BODY / 2)));
    const stacked = [["Content-Encoding", "gzip, br"]] as const;
    for (let round = 0; round < 3; round += 1) {
      const refused = await b.ask("POST", CHAT, stacked, bomb);
      expect([refused.status, errorOf(refused)["code"]]).toEqual([503, "overloaded"]);
      const fits = brotliCompressSync(gzipSync("a".repeat(4000)));
      expect((await b.ask("POST", CHAT, stacked, fits)).body).toHaveLength(4000);
    }
    expect((await b.ask("POST", CHAT, [], "x".repeat(5000))).status).toBe(200);
  });

  test("a body that stops coming is refused and its connection closed", async () => {
    await using b = await bench({ stallTimeoutMs: 100 });
    const client = await b.open(rawRequest("POST", CHAT, [["Content-Length", "9"]], "12345"));
    const answer = await client.response();
    expect([answer.status, errorOf(answer)["type"], answer.header("connection")]).toEqual([
      408,
      "invalid_request_error",
      "close",
    ]);
    expect(await client.closed).toBe("end");
    expect(b.received).toHaveLength(0);
  });

  test.each([
    ["no HTTP", "hello\r\n\r\n", 400],
    [
      "a header block over 64 KiB",
      `GET /v1/models HTTP/1.1\r\nHost: h\r\nx: ${"a".repeat(70_000)}\r\n\r\n`,
      431,
    ],
    ["a broken chunk", `POST ${CHAT} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n`, 400],
    [
      "two framings",
      `POST ${CHAT} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n`,
      400,
    ],
    ["no host", "GET /v1/models HTTP/1.1\r\nConnection: close\r\n\r\n", 400],
    ["two hosts", "GET /v1/models HTTP/1.1\r\nHost: a\r\nHost: b\r\nConnection: close\r\n\r\n", 400],
    ["a tunnel", "CONNECT provider:443 HTTP/1.1\r\nHost: provider:443\r\n\r\n", 405],
  ])("malformed: %s is answered in JSON and closed", async (_name, bytes, status) => {
    await using b = await bench();
    const client = await b.open(bytes);
    const answer = await client.response();
    expect([answer.status, errorOf(answer)["type"]]).toEqual([status, "invalid_request_error"]);
    expect(answer.header("x-request-id")).toBeDefined();
    expect(await client.closed).toBe("end");
    expect(b.received).toHaveLength(0);
  });

  test("an expectation that nobody knows is ignored, and HTTP/1.0 needs no host", async () => {
    await using b = await bench();
    const expecting = rawRequest("POST", CHAT, [["Expect", "the-unexpected"]], JSON_BODY);
    const answer = await (await b.open(expecting)).response();
    expect([answer.status, answer.body.toString()]).toEqual([200, JSON_BODY]);
    const old = await b.open("GET /v1/models HTTP/1.0\r\n\r\n");
    expect((await old.response()).status).toBe(200);
  });

  test("more header lines than Infer takes, or too long a query, is refused", async () => {
    await using b = await bench();
    const lines = Array.from({ length: 300 }, (_, at): [string, string] => [`x-${at}`, "1"]);
    expect((await b.ask("GET", "/v1/models", lines)).status).toBe(431);
    expect((await b.ask("GET", `/v1/models?${"q".repeat(9000)}`)).status).toBe(400);
  });

  test("an occupied port is one line that names it; a shared one is said on both sides", async () => {
    await using b = await bench();
    const options = { inference: { infer() {} }, maxBodyBytes: 1, logger: SILENT, metrics: b.metrics };
    await expect(createFacade(options).listen({ host: "127.0.0.1", port: b.port })).rejects.toThrow(
      `http address 127.0.0.1:${b.port} is already in use`,
    );
    const shared = { host: "127.0.0.1", port: await freePort(), reusePort: true };
    const [one, two] = [createFacade(options), createFacade(options)];
    expect(await one.listen(shared)).toBe(`127.0.0.1:${shared.port}`);
    expect(await two.listen(shared)).toBe(`127.0.0.1:${shared.port}`);
    await Promise.all([one.close(0), two.close(0)]);
  });
});
