import type { Family } from "../family.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** OpenRouter, which speaks three dialects itself. */
export const family: Family = {
  name: "openrouter",
  wireOf: ({ endpoint }) => endpoint,
  buildRequest(input) {
    const own = input.secret === undefined ? [] : ["authorization", `Bearer ${input.secret}`];
    return {
      method: "POST",
      ...addressOf(input),
      headers: requestHeaders(callerHeadersOf(input), own),
      body: input.body,
    };
  },
};
