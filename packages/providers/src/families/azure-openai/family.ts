import type { Family } from "../family.ts";
import { openAiWire } from "../openai-paths.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** Azure OpenAI. */
export const family: Family = {
  name: "azure_openai",
  tokens: "entra",
  wireOf: openAiWire,
  buildRequest(input) {
    const own = input.secret === undefined ? [] : authHeader(input.secret, input.secretIsToken);
    return {
      method: input.stored?.method ?? "POST",
      ...addressOf(input),
      headers: requestHeaders(callerHeadersOf(input), own),
      body: input.body,
    };
  },
};

/** Entra tokens that a config names are JSON web tokens, which no Azure key looks like. */
function authHeader(secret: string, isToken: boolean | undefined): string[] {
  return isToken === true || /^eyJ[\w-]*\.[\w-]+\.[\w-]*$/u.test(secret)
    ? ["authorization", `Bearer ${secret}`]
    : ["api-key", secret];
}
