import { isJsonObject, type JsonObject, parseJson, printJson } from "../../json/lossless.ts";
import { encodeUtf8 } from "../../json/text.ts";
import type { Dialect } from "../dialect.ts";
import { openAiDialect } from "../openai/errors.ts";
import { readProviderError } from "../provider-error.ts";

/** The error shapes of the Responses API: OpenAI's, but for the events inside a stream, which have a type and a number of their own. */
export const responsesDialect: Dialect = {
  ...openAiDialect,
  errorEvent({ code, message, param = null }, _requestId, sequence = 0) {
    return eventOf("error", { code, message, param, sequence_number: sequence });
  },
  providerErrorEvent(status, data, _requestId, sequence = 0) {
    const said = parseJson(data);
    const type = isJsonObject(said) ? ownTypeOf(said) : undefined;
    if (isJsonObject(said) && type !== undefined)
      return eventOf(type, { sequence_number: sequence, ...said });
    const { message, code, param } = readProviderError(status, data);
    return eventOf("error", { code, message, param, sequence_number: sequence });
  },
};

/** A whole response that failed, or an error with its message where clients look for it or, as OpenAI sends it too, one level deeper. */
function ownTypeOf({ type, message, error }: JsonObject): string | undefined {
  if (type === "response.failed") return type;
  const says = typeof message === "string" || (isJsonObject(error) && typeof error["message"] === "string");
  return type === "error" && says ? type : undefined;
}

function eventOf(type: string, data: JsonObject): Uint8Array {
  return encodeUtf8(`event: ${type}\ndata: ${printJson({ type, ...data })}\n\n`);
}
