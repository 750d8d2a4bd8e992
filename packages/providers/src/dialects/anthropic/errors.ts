import { decodeUtf8, encodeUtf8 } from "../../json/text.ts";
import type { CallerError, Dialect } from "../dialect.ts";
import { isAnthropicError, readProviderError } from "../provider-error.ts";

/** Anthropic's `error.type` for a status (contracts section 3). */
export function anthropicErrorType(status: number): string {
  switch (status) {
    case 401:
      return "authentication_error";
    case 402:
      return "billing_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
    case 529:
      return "overloaded_error";
    case 504:
      return "timeout_error";
    default:
      return status >= 500 ? "api_error" : "invalid_request_error";
  }
}

interface Words {
  readonly message: string;
  readonly code?: string | undefined;
  readonly param?: string | undefined;
}

function envelope(status: number, words: Words, requestId: string): string {
  return JSON.stringify({
    type: "error",
    error: { type: anthropicErrorType(status), ...words },
    request_id: requestId,
  });
}

/** What only says the HTTP status again. */
const STATUS_CODE = /^\d{3}$/u;

/** P5: this dialect has no place for a code and a field's name, so they stand where OpenAI's has them. */
function wordsOf(status: number, body: Uint8Array, headers?: readonly string[]): Words {
  const { message, code, param } = readProviderError(status, body, headers);
  return {
    message,
    code: code === null || STATUS_CODE.test(code) ? undefined : code,
    param: param ?? undefined,
  };
}

function ownError(error: CallerError, requestId: string): string {
  return envelope(error.status, { message: error.message }, requestId);
}

function eventOf(json: string): Uint8Array {
  return encodeUtf8(`event: error\ndata: ${json}\n\n`);
}

/** The error shapes that callers of messages and count_tokens know (BH-34). */
export const anthropicDialect: Dialect = {
  name: "anthropic",
  errorBody(error, requestId) {
    return encodeUtf8(ownError(error, requestId));
  },
  errorEvent(error, requestId) {
    return eventOf(ownError(error, requestId));
  },
  providerErrorBody(status, body, requestId, headers) {
    if (isAnthropicError(body)) return body;
    return encodeUtf8(envelope(status, wordsOf(status, body, headers), requestId));
  },
  providerErrorEvent(status, data, requestId) {
    // Data of several lines may hold line feeds between its tokens, which an event can't.
    if (isAnthropicError(data)) return eventOf(decodeUtf8(data, 0, data.length).replaceAll("\n", " "));
    return eventOf(envelope(status, wordsOf(status, data), requestId));
  },
};
