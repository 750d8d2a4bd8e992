import { type Answer, type HeaderLines, json, sse } from "./answers.ts";
import { NEXT } from "./steps.ts";

const CREATED = 1_700_000_000;
const MODEL = "up-model";

/** One `chat.completion.chunk` event of the cases. */
export function CH(delta: unknown, finishReason: string | null = null): string {
  return data({
    id: "c1",
    object: "chat.completion.chunk",
    created: CREATED,
    model: MODEL,
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
}

/** `data: [DONE]` and its blank line. */
export const DONE = "data: [DONE]\n\n";

/** The role chunk that opens a chat stream. */
export const ROLE: string = CH({ role: "assistant", content: "" }, null);

/** The last chunk of `include_usage`: no choice, only usage. */
export function USAGE(prompt = 3, completion = 2): string {
  return data({
    id: "c1",
    object: "chat.completion.chunk",
    created: CREATED,
    model: MODEL,
    choices: [],
    usage: usageOf(prompt, completion),
  });
}

/** `data: <json>` and a blank line. A string is taken as JSON text already. */
export function data(value: unknown): string {
  return `data: ${jsonText(value)}\n\n`;
}

/** Anthropic event: `event: name\ndata: json\n\n`. */
export function AE(name: string, value: unknown): string {
  return `event: ${name}\ndata: ${jsonText(value)}\n\n`;
}

/** Gemini event: `data: json\r\n\r\n`. */
export function G(value: unknown): string {
  return `data: ${jsonText(value)}\r\n\r\n`;
}

/** 200 chat completion with that content, `stop`, usage 3/2/5. */
export function OK(content: string, headers: HeaderLines = {}): Answer {
  return json(
    200,
    {
      id: "c1",
      object: "chat.completion",
      created: CREATED,
      model: MODEL,
      choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
      usage: usageOf(3, 2),
    },
    headers,
  );
}

/** The same as a stream: role chunk, content, `stop`, `[DONE]`. */
export function HEALTHY(content: string, headers: HeaderLines = {}): Answer {
  return sse([ROLE, NEXT, CH({ content }, null), NEXT, CH({}, "stop"), DONE], { headers });
}

/** `HEALTHY` if the call's body asks for a stream, else `OK`; for `provider.answer`. */
export function asAsked(content: string): (call: { json(): unknown }) => Answer {
  return (call) => {
    const body = call.json();
    const stream = typeof body === "object" && body !== null && "stream" in body && body.stream === true;
    return stream ? HEALTHY(content) : OK(content);
  };
}

/** 200 embeddings list; `base64` gives little-endian float32. */
export function embeddings(
  vectors: readonly (readonly number[])[],
  options: { readonly base64?: boolean } = {},
): Answer {
  const list = vectors.map((vector, index) => ({
    object: "embedding",
    index,
    embedding: options.base64 === true ? float32Base64(vector) : vector,
  }));
  const usage = { prompt_tokens: vectors.length, total_tokens: vectors.length };
  return json(200, { object: "list", data: list, model: MODEL, usage });
}

/** Little-endian float32 in base64, the form SDKs ask for. */
export function float32Base64(vector: readonly number[]): string {
  const bytes = Buffer.alloc(vector.length * 4);
  vector.forEach((value, index) => bytes.writeFloatLE(value, index * 4));
  return bytes.toString("base64");
}

/** OpenAI-shaped error answer; `param` and `code` are null unless given. */
export function failure(
  status: number,
  error: {
    readonly message: string;
    readonly type?: string;
    readonly param?: string;
    readonly code?: string | number;
  },
  headers: HeaderLines = {},
): Answer {
  const { message, type = "server_error", param = null, code = null } = error;
  return json(status, { error: { message, type, param, code } }, headers);
}

/** The 429 of BH-01; Retry-After and its relatives go into the headers. */
export function tooMany(headers: HeaderLines = {}): Answer {
  const error = { message: "slow down", type: "rate_limit_error", code: "rate_limit_exceeded" };
  return json(429, { error }, headers);
}

/** A 401 with the body of a wrong key. */
export function unauthorized(headers: HeaderLines = {}): Answer {
  const error = { message: "Incorrect API key provided", type: "invalid_request_error" };
  return failure(401, { ...error, code: "invalid_api_key" }, headers);
}

/** A 500 with an ordinary error object. */
export const BROKEN: Answer = failure(500, { message: "the server had an error" });

function usageOf(prompt: number, completion: number): object {
  return { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
}

function jsonText(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}
