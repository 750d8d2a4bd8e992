import { describe, expect, it } from "vitest";
import { dialectOf } from "../../src/dialects/index.ts";
import { bytesOf, textOf } from "../support/bytes.ts";
import { providerCases } from "../support/fixtures.ts";

const openAi = dialectOf("chat");
const anthropic = dialectOf("messages");

interface Body {
  readonly error: {
    readonly message: string;
    readonly type: string;
    readonly code: unknown;
    readonly param: unknown;
  };
}
const openAiBody = (status: number, body: string): Body =>
  JSON.parse(textOf(openAi.providerErrorBody(status, bytesOf(body), "r"))) as Body;

describe("errors of the gateway's own (H3)", () => {
  it.each([
    [400, "invalid_json", "invalid_request_error", "invalid_request_error"],
    [401, "invalid_api_key", "authentication_error", "authentication_error"],
    [403, "model_not_allowed", "permission_error", "permission_error"],
    [404, "not_found", "invalid_request_error", "not_found_error"],
    [405, "method_not_allowed", "invalid_request_error", "invalid_request_error"],
    [413, "request_too_large", "invalid_request_error", "request_too_large"],
    [415, "unsupported_encoding", "invalid_request_error", "invalid_request_error"],
    [429, "rate_limit_exceeded", "rate_limit_error", "rate_limit_error"],
    [429, "budget_exceeded", "insufficient_quota", "rate_limit_error"],
    [502, "upstream_unreachable", "server_error", "api_error"],
    [503, "upstream_unavailable", "server_error", "overloaded_error"],
    [504, "upstream_timeout", "server_error", "timeout_error"],
  ])("%i %s", (status, code, openAiType, anthropicType) => {
    const error = { status, code, message: 'no "x"' };
    expect(JSON.parse(textOf(openAi.errorBody(error, "req_1")))).toStrictEqual({
      error: { message: 'no "x"', type: openAiType, code, param: null },
    });
    expect(JSON.parse(textOf(anthropic.errorBody(error, "req_1")))).toStrictEqual({
      type: "error",
      error: { type: anthropicType, message: 'no "x"' },
      request_id: "req_1",
    });
  });

  it("E6: a stream ends with an event of the dialect", () => {
    const error = { status: 502, code: "upstream_unreachable", message: "gone", param: "p" };
    expect(textOf(openAi.errorEvent(error, "r"))).toBe(
      'data: {"error":{"message":"gone","type":"server_error","code":"upstream_unreachable","param":"p"}}\n\n',
    );
    expect(textOf(anthropic.errorEvent(error, "r"))).toBe(
      'event: error\ndata: {"type":"error","error":{"type":"api_error","message":"gone"},"request_id":"r"}\n\n',
    );
  });

  it("every endpoint has its callers' dialect", () => {
    expect(dialectOf("embeddings").name).toBe("openai");
    expect(dialectOf("responses").name).toBe("openai");
    expect(dialectOf("count_tokens").name).toBe("anthropic");
  });
});

describe("a provider's errors (P5, BH-33)", () => {
  it("Google's word is the code, since its code is the status; others' own fields pass", () => {
    const said = '{"error":{"code":429,"message":"Slow.","status":"RESOURCE_EXHAUSTED","details":[]}}';
    const error = { message: "Slow.", type: "rate_limit_error", code: "RESOURCE_EXHAUSTED", param: null };
    expect(openAiBody(429, said)).toStrictEqual({ error });
    const openRouter = '{"error":{"message":"No credits","code":402,"metadata":{}}}';
    expect(openAiBody(402, openRouter)).toStrictEqual(JSON.parse(openRouter));
    const told = textOf(anthropic.providerErrorBody(402, bytesOf(openRouter), "r"));
    expect(JSON.parse(told)).toMatchObject({ error: { type: "billing_error", message: "No credits" } });
  });

  const recorded = ["chat.completions", "embeddings"]
    .flatMap((endpoint) => providerCases(["openai", "azure-openai"], endpoint))
    .filter(({ status }) => status >= 400);

  it.each(recorded)("$name passes byte for byte", ({ status, body }) => {
    expect(openAi.providerErrorBody(status, body, "r")).toBe(body);
  });

  it.each([
    ['{"message":"plain"}', "plain"],
    ['{"error":"plain"}', "plain"],
    ['{"detail":"plain"}', "plain"],
    ['{"detail":[{"loc":["body","x"],"msg":"bad"}]}', "bad"],
    ['[{"error":{"code":400,"message":"arr","status":"INVALID_ARGUMENT"}}]', "arr"],
    ['{"error":{"code":400,"message":"google","status":"INVALID_ARGUMENT"}}', "google"],
    ['{"object":"error","message":"vllm","type":"BadRequestError","param":null,"code":400}', "vllm"],
    ['"just text"', "just text"],
    ["just text", "just text"],
    ['{"broken":', '{"broken":'],
    ["", "Bad Request"],
    ["null", ""],
    ["{}", ""],
    ["[]", ""],
  ])("%s becomes an error object", (body, words) => {
    const { error } = openAiBody(400, body);
    expect(error.message).toContain(words);
    expect(error.message).not.toContain("[object");
    expect(error.message).not.toBe("");
    expect(typeof error.type).toBe("string");
    const mapped = JSON.parse(textOf(anthropic.providerErrorBody(400, bytesOf(body), "r"))) as Body;
    expect(mapped.error).toMatchObject({ type: "invalid_request_error", message: error.message });
  });

  it.each([
    [
      400,
      '{"error":{"message":"long","type":"invalid_request_error","code":"context_length_exceeded","param":"messages"}}',
      { type: "invalid_request_error", message: "long", code: "context_length_exceeded", param: "messages" },
    ],
    [
      429,
      '{"error":{"code":429,"message":"slow","status":"RESOURCE_EXHAUSTED"}}',
      { type: "rate_limit_error", message: "slow", code: "RESOURCE_EXHAUSTED" },
    ],
    [
      401,
      '{"error":{"message":"who","type":"api_error","code":null,"param":null}}',
      { type: "authentication_error", message: "who" },
    ],
    [402, '{"error":{"message":"No credits","code":402}}', { type: "billing_error", message: "No credits" }],
  ])("P5, BH-34: callers of messages get the code and the field too, %i %s", (status, body, error) => {
    const envelope = { type: "error", error, request_id: "r" };
    expect(JSON.parse(textOf(anthropic.providerErrorBody(status, bytesOf(body), "r")))).toStrictEqual(
      envelope,
    );
    const event = textOf(anthropic.providerErrorEvent(status, bytesOf(body), "r"));
    expect(JSON.parse(event.replace("event: error\ndata: ", ""))).toStrictEqual(envelope);
  });

  it.each([
    ["ThrottlingException", '{"message":"slow down"}', "ThrottlingException"],
    [
      "ValidationException:http://internal.amazon.com/coral/",
      '{"message":"slow down"}',
      "ValidationException",
    ],
    [
      undefined,
      '{"__type":"com.amazon.bedrock#AccessDeniedException","message":"slow down"}',
      "AccessDeniedException",
    ],
    ["ThrottlingException", '{"error":{"message":"slow down","code":"own"}}', "own"],
    [undefined, '{"message":"slow down"}', null],
  ])("P5: AWS's name of an error, in header %s or in the body, is its code", (header, body, code) => {
    const headers = ["content-type", "application/json", ...(header ? ["x-amzn-errortype", header] : [])];
    const told = (dialect: typeof openAi): unknown =>
      JSON.parse(textOf(dialect.providerErrorBody(429, bytesOf(body), "r", headers)));
    expect(told(openAi)).toMatchObject({ error: { message: "slow down", code: code ?? null } });
    expect(told(anthropic)).toMatchObject({
      error: { type: "rate_limit_error", message: "slow down", ...(code === null ? {} : { code }) },
    });
  });

  it("P5: a long message is kept, an endless one is not", () => {
    const told = (message: string): string => {
      const body = bytesOf(JSON.stringify({ error: { message, type: "invalid_request_error" } }));
      return (JSON.parse(textOf(anthropic.providerErrorBody(400, body, "r"))) as Body).error.message;
    };
    expect(told(`${"field x is wrong; ".repeat(200)}that is all`)).toContain("that is all");
    expect(told("x".repeat(20_000))).toHaveLength(8192);
    expect(told(`<html>${"x".repeat(5000)}`)).toHaveLength(1000);
  });

  it("HTML is cut to at most 1 KiB", () => {
    const { error } = openAiBody(502, `<html><body>502 Bad Gateway${"x".repeat(5000)}</body></html>`);
    expect(error.message).toContain("502 Bad Gateway");
    expect(error.message.length).toBeLessThanOrEqual(1024);
    expect(error.type).toBe("server_error");
  });

  it("an Anthropic body passes byte for byte to its dialect", () => {
    const body = bytesOf('{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}');
    expect(anthropic.providerErrorBody(529, body, "r")).toBe(body);
    expect(textOf(anthropic.providerErrorEvent(529, body, "r"))).toBe(
      `event: error\ndata: ${textOf(body)}\n\n`,
    );
  });

  it("BH-06: an error inside a stream keeps its words, and its type is set", () => {
    const event = (status: number, data: string): unknown =>
      JSON.parse(textOf(openAi.providerErrorEvent(status, bytesOf(data), "r")).slice(6));
    expect(event(502, '{"id":"c","error":{"message":"busy","code":502},"choices":[]}')).toStrictEqual({
      error: { message: "busy", code: 502, type: "server_error" },
    });
    expect(event(429, '{"error":{"message":"m","type":"t","code":null}}')).toStrictEqual({
      error: { message: "m", type: "t", code: null },
    });
    expect(event(500, "oops")).toMatchObject({ error: { message: "oops", type: "server_error" } });
  });
});
