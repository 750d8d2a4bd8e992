import { decodeUtf8, encodeUtf8 } from "../../json/text.ts";
import type { CallerError, Dialect } from "../dialect.ts";
import { hasErrorMessage, isAnthropicError, isGoogleError, readProviderError } from "../provider-error.ts";

/** OpenAI's `error.type` for a status and code (contracts section 3). */
export function openAiErrorType(status: number, code: string | null): string {
  if (code === "budget_exceeded") return "insufficient_quota";
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

function ownError(error: CallerError): string {
  const { message, code, param = null } = error;
  return JSON.stringify({ error: { message, type: openAiErrorType(error.status, code), code, param } });
}

function providerError(status: number, body: Uint8Array, headers?: readonly string[]): string {
  const { message, type, code, param } = readProviderError(status, body, headers);
  return JSON.stringify({ error: { message, type: type ?? openAiErrorType(status, code), code, param } });
}

/** Errors of Anthropic and Google have a message in the same place, but not the fields beside it that clients of this dialect read. */
function isOwnForm(body: Uint8Array): boolean {
  return hasErrorMessage(body) && !isAnthropicError(body) && !isGoogleError(body);
}

function eventOf(json: string): Uint8Array {
  return encodeUtf8(`data: ${json}\n\n`);
}

/** The error shapes that callers of chat, embeddings and responses know. */
export const openAiDialect: Dialect = {
  name: "openai",
  errorBody(error) {
    return encodeUtf8(ownError(error));
  },
  errorEvent(error) {
    return eventOf(ownError(error));
  },
  providerErrorBody(status, body, _requestId, headers) {
    return isOwnForm(body) ? body : encodeUtf8(providerError(status, body, headers));
  },
  providerErrorEvent(status, data) {
    // A chunk that carries an error beside its choices goes on as an error alone: clients look for nothing else in it.
    const error = isOwnForm(data)
      ? (JSON.parse(decodeUtf8(data, 0, data.length)) as { readonly error: object }).error
      : undefined;
    if (error === undefined) return eventOf(providerError(status, data));
    const { type, code } = error as { readonly type?: unknown; readonly code?: unknown };
    const known =
      typeof type === "string" ? type : openAiErrorType(status, typeof code === "string" ? code : null);
    return eventOf(JSON.stringify({ error: { ...error, type: known } }));
  },
};
