import { readFileSync } from "node:fs";
import { ERROR_CLASSES, type ErrorClass } from "@switchyard/core";
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { recogniseError, type ProviderAnswer } from "../../src/errors/recognise-error.ts";
import { classOfStatus } from "../../src/errors/status-class.ts";

interface LabelledLine {
  readonly family: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  readonly label: string;
}

const now = Date.UTC(2026, 10, 30, 12, 0, 0);

function linesOf(name: string): readonly LabelledLine[] {
  const text = readFileSync(new URL(name, import.meta.url), "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as LabelledLine);
}

function answerOf(status: number, body: string, more: Partial<ProviderAnswer> = {}): ProviderAnswer {
  return { family: "openai", status, headers: () => undefined, body, inStream: false, ...more };
}

function answerOfLine(line: LabelledLine): ProviderAnswer {
  const headers = new Map(Object.entries(line.headers).map(([name, value]) => [name.toLowerCase(), value]));
  return answerOf(line.status, line.body, {
    family: line.family,
    headers: (name) => headers.get(name),
    inStream: line.status === 200,
  });
}

/** The corpus has one label for time-outs; the class says where it came (semantics section 5). */
function classOfLabel(line: LabelledLine): string {
  if (line.label !== "timeout") return line.label;
  if (line.status === 200) return "stream_error";
  return line.status === 408 ? "request_timeout" : "server_error";
}

describe.each(["errors.jsonl", "found-errors.jsonl"])("P6: labelled errors of %s", (name) => {
  it.each(linesOf(name).map((line, index) => ({ number: index + 1, line })))(
    "line $number: $line.family $line.status is $line.label",
    ({ line }) => {
      expect(recogniseError(answerOfLine(line), now).class).toBe(classOfLabel(line));
    },
  );
});

describe("what bounds the classes", () => {
  const overflow = JSON.stringify({
    error: { message: "prompt is too long: 3 tokens > 2 maximum", code: "context_length_exceeded" },
  });
  const filtered = JSON.stringify({ error: { message: "content filter", code: "content_filter" } });

  it.each([429, 500, 502, 503, 529])("a %i is never context_length or content_filter", (status) => {
    for (const body of [overflow, filtered]) {
      expect(recogniseError(answerOf(status, body), now).class).toBe(classOfStatus(status));
    }
  });

  it.each([400, 403, 413, 422])("a %i that says so is", (status) => {
    expect(recogniseError(answerOf(status, overflow), now).class).toBe("context_length");
    expect(recogniseError(answerOf(status, filtered), now).class).toBe("content_filter");
  });

  it("an in-stream error may name them, and one that says no more is a stream_error", () => {
    expect(recogniseError(answerOf(200, overflow, { inStream: true }), now).class).toBe("context_length");
    expect(recogniseError(answerOf(200, '{"error":{"message":"boom"}}', { inStream: true }), now).class).toBe(
      "stream_error",
    );
  });

  it("BH-02: credit gone is the account's, an ordinary 400 the caller's", () => {
    const low =
      '{"type":"error","error":{"type":"invalid_request_error","message":"Your credit balance is too low to use this API"}}';
    const ordinary =
      '{"type":"error","error":{"type":"invalid_request_error","message":"max_tokens: must be at least 1"}}';
    const payment = '{"error":{"message":"Insufficient credits on this account","code":402}}';
    expect(recogniseError(answerOf(400, low), now).class).toBe("quota_exhausted");
    expect(recogniseError(answerOf(400, ordinary), now).class).toBe("invalid_request");
    expect(recogniseError(answerOf(402, payment), now).class).toBe("quota_exhausted");
  });

  it.each([
    "It is not allowed to use both temperature and top_p",
    "The parameter `functions` for this model is deprecated",
    "Tool 'abc' not found in tools for this model",
    "Model gpt-4o requires a tool; function 'x' was not found",
    "Invalid token count in logit_bias",
    "stop: sequences exceed the limit of 4",
    "messages: at most 100 images are allowed",
    "prompt_cache_key is too long",
    "n must be at most 8, exceeding the limit",
    "image exceeds the maximum size of 20MB",
    "user: string too long",
    "metadata exceeds limit of 16 keys",
    "max_completion_tokens exceeds the maximum of 16384",
    "seed is not supported",
    "You must provide a model parameter",
    "tool_choice 'required' is not supported with thinking",
    "Thinking budget must be less than max_tokens",
    "Number of requested results 64 exceeds the maximum of 8",
    "Only 1 system message is allowed per conversation",
    "Missing required parameter: 'messages'.",
    "Could not parse the JSON body of your request.",
    "response_format not supported by this model",
    "model is a required property",
    "Invalid 'model': expected string",
    "This model does not support image input",
    "messages: Input should be a valid list",
    "reasoning.encrypted_content is too long",
    "Stream options can only be defined when `stream=True`.",
    "Item 'fc_1' not found",
    "audio file is too short. Minimum audio length is 0.1 seconds.",
    "Invalid base64 image_url",
    "the tokens limit for stop words is 10",
    "text.verbosity unsupported",
    "daily",
    "context must be a string",
    "input must not be empty",
    "logprobs is not available for this model",
    "Unable to block on content policy parameter",
    "stop reason guardrails config is missing",
    "Invalid 'tools[0].name': contains 'context window size'",
  ])("an ordinary 400 stays the caller's: %s", (message) => {
    for (const body of [
      { error: { message, type: "invalid_request_error", param: null, code: null } },
      { detail: message },
    ]) {
      expect(recogniseError(answerOf(400, JSON.stringify(body)), now).class).toBe("invalid_request");
    }
  });

  it("words of the caller that a provider echoes beside the error are not read", () => {
    const body = JSON.stringify({
      error: { message: "Unknown parameter: 'x'.", code: "unknown_parameter" },
      input: "invalid api key, out of credits",
      choices: [{ message: "context_length_exceeded" }],
    });
    expect(recogniseError(answerOf(400, body), now).class).toBe("invalid_request");
  });

  it.each([
    ["throttlingException", "rate_limited"],
    ["serviceUnavailableException", "overloaded"],
    ["internalServerException", "server_error"],
    ["modelStreamErrorException", "stream_error"],
    ["validationException", "invalid_request"],
  ])("BH-17: a frame of %s is %s", (exception, expected) => {
    const headers = (name: string): string | undefined =>
      name === ":exception-type" ? exception : undefined;
    const frame = answerOf(200, '{"message":"slow down"}', { family: "bedrock", headers, inStream: true });
    expect(recogniseError(frame, now)).toMatchObject({ class: expected, message: "slow down" });
  });
});

describe("P5, BH-33: the provider's words are kept", () => {
  it("message, type, param and code of an error object", () => {
    const error = {
      message: "Unsupported value: 'temperature'",
      type: "invalid_request_error",
      param: "temperature",
      code: "unsupported_value",
    };
    expect(recogniseError(answerOf(400, JSON.stringify({ error })), now)).toEqual({
      class: "invalid_request",
      ...error,
    });
  });

  it.each([
    ['{"message":"plain"}', "plain"],
    ['{"detail":[{"loc":["body","x"],"msg":"bad"}]}', "body.x: bad"],
    ['[{"error":{"code":400,"message":"arr","status":"INVALID_ARGUMENT"}}]', "arr"],
    ['"just text"', "just text"],
    ["plain text", "plain text"],
    ["", "Bad Request"],
    ["   ", "Bad Request"],
    ['{"error":', '{"error":'],
    ['{"error":{"message":"cut of', "cut of"],
    ["{}", "Bad Request"],
    ["null", "null"],
    ['{"error":"a string"}', "a string"],
    ['{"throttlingException":{"message":"nested"}}', "nested"],
    ['{"object":"error","message":{"detail":[{"loc":["body","x"],"msg":"bad"}]},"code":null}', "body.x: bad"],
    ['{"Response":{"Error":{"Code":"X","Message":"deep"},"RequestId":"r"}}', "deep"],
    [
      '{"error":{"message":"Provider returned error","metadata":{"raw":"{\\"error\\":{\\"message\\":\\"real\\"}}"}}}',
      "real",
    ],
    ["<html><body>502 Bad Gateway</body></html>", "502 Bad Gateway"],
  ])("%s says %s", (body, message) => {
    expect(recogniseError(answerOf(400, body), now).message).toBe(message);
  });

  it("a message is at most 1 KiB of UTF-8, cut between characters", () => {
    const { message } = recogniseError(answerOf(400, JSON.stringify({ message: "€😀".repeat(1000) })), now);
    const bytes = new TextEncoder().encode(message).length;
    expect(bytes).toBeLessThanOrEqual(1024);
    expect(bytes).toBeGreaterThan(1020);
    expect(message.isWellFormed()).toBe(true);
  });

  it("Retry-After comes along", () => {
    const headers = (name: string): string | undefined => (name === "retry-after" ? "2" : undefined);
    expect(recogniseError(answerOf(429, "", { headers }), now).retryAfterMs).toBe(2000);
  });
});

describe("any input", () => {
  const classes: ReadonlySet<ErrorClass> = new Set(ERROR_CLASSES);
  const answers = fc.record({
    family: fc.string(),
    status: fc.oneof(fc.integer({ min: 100, max: 599 }), fc.integer()),
    headers: fc
      .dictionary(fc.constantFrom("retry-after", "x-amzn-errortype"), fc.string())
      .map((all) => (name: string) => all[name]),
    body: fc.oneof(
      fc.string({ unit: "binary" }),
      fc.json(),
      fc.json().map((text) => text.slice(0, -3)),
    ),
    inStream: fc.boolean(),
  });

  it("has a class, a short message, and never throws", () => {
    fc.assert(
      fc.property(answers, (answer) => {
        const recognised = recogniseError(answer, now);
        expect(classes.has(recognised.class)).toBe(true);
        expect(new TextEncoder().encode(recognised.message).length).toBeLessThanOrEqual(1024);
        expect(recognised.message).not.toBe("");
      }),
    );
  });

  it("a status alone has the class of the table", () => {
    fc.assert(
      fc.property(fc.integer({ min: 400, max: 599 }), (status) => {
        expect(recogniseError(answerOf(status, ""), now).class).toBe(classOfStatus(status));
      }),
    );
  });

  it.each([
    ["open braces", "{"],
    ["lists", "["],
    ["nested objects", '{"error":'],
    ["tags", "<"],
    ["half tags", "<style"],
    ["scripts", "<script>"],
    ["spaces", " "],
    ["member names", '"message":"'],
    ["codes", '"code":"a",'],
    ["models", "model "],
    ["model paths", "model/"],
    ["limits", "exceeded your max tokens "],
    ["quotes and backslashes", '\\"'],
    ["new lines", "\n"],
  ])("64 KiB of %s come to an end, quoted or not", (_, piece) => {
    const filler = piece.repeat(Math.ceil(65_536 / piece.length));
    for (const body of [
      filler,
      `<a${filler}`,
      `{"error":{"message":"${filler}`,
      JSON.stringify({ error: { message: filler } }),
    ]) {
      expect(classes.has(recogniseError(answerOf(400, body), now).class)).toBe(true);
    }
  });
});
