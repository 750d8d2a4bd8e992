import type { Family } from "../family.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

const VERSION = "anthropic-version";
const DEFAULT_VERSION = "2023-06-01";

/** Anthropic itself. Its own headers go on from callers of any dialect: `anthropic-beta` is how chat's callers ask for betas. */
export const family: Family = {
  name: "anthropic",
  wireOf({ endpoint }) {
    return endpoint === "chat" || endpoint === "responses" ? "messages" : endpoint;
  },
  buildRequest(input) {
    const own = input.secret === undefined ? [] : ["x-api-key", input.secret];
    const isVersioned = input.callerHeaders.some(
      (name, place) => place % 2 === 0 && name.toLowerCase() === VERSION,
    );
    if (!isVersioned) own.push(VERSION, DEFAULT_VERSION);
    return {
      method: "POST",
      ...addressOf(input),
      headers: requestHeaders(callerHeadersOf(input, "anthropic-"), own),
      body: input.body,
    };
  },
};
