import { isJsonObject, type JsonObject, parseJson, printJson } from "../../json/lossless.ts";
import { encodeUtf8 } from "../../json/text.ts";
import type { Dialect } from "../dialect.ts";
import { openAiDialect } from "../openai/errors.ts";
import { readProviderError } from "../provider-error.ts";

/** The error shapes of the Responses API: OpenAI's, but for the events inside a stream, which have a type and a number of their own. */
export const responsesDialect: Dialect = {
  name: "openai",
  errorBody: openAiDialect.errorBody,
  errorEvent({ code, message, param = null }, _requestId, sequence = 0) {
    return eventOf({ type: "error", code, message, param, sequence_number: sequence });
  },
  providerErrorBody: openAiDialect.providerErrorBody,
  providerErrorEvent(status, data, _requestId, sequence = 0) {
    const said = parseJson(data);
    if (isJsonObject(said) && isOwnForm(said)) return eventOf({ sequence_number: sequence, ...said });
    const { message, code, param } = readProviderError(status, data);
    return eventOf({ type: "error", code, message, param, sequence_number: sequence });
  },
};

/** A whole response that failed, or an error with its message where clients look for it or, as OpenAI sends it too, one level deeper. */
function isOwnForm(said: JsonObject): boolean {
  const { type, message, error } = said as { readonly [key: string]: unknown };
  if (type === "response.failed") return true;
  return type === "error" && (typeof message === "string" || isMessage(error));
}

function isMessage(error: unknown): boolean {
  return typeof error === "object" && error !== null && typeof (error as JsonObject)["message"] === "string";
}

function eventOf(data: JsonObject): Uint8Array {
  return encodeUtf8(`event: ${String(data["type"])}\ndata: ${printJson(data)}\n\n`);
}
