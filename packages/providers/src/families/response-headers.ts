import { namedByConnection } from "./request-headers.ts";

/**
 * What never goes from a provider to a caller (P9): its connection's own business, cookies, and what it says of its own host, which
 * the caller would take for ours. `content-length` is for whoever writes the body to say.
 */
const NOT_RETURNED: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "content-length",
  "set-cookie",
  "set-cookie2",
  "alt-svc",
  "strict-transport-security",
]);

/** Where a caller finds the provider's id of the request; `x-request-id` is the gateway's own. */
export const UPSTREAM_REQUEST_ID = "x-upstream-request-id";

/** The headers of a provider's answer that its caller gets, flat and in lower case. The gateway adds its own. */
export function callerHeaders(providerHeaders: readonly string[]): string[] {
  const headers: string[] = [];
  const named = namedByConnection(providerHeaders);
  for (let place = 0; place + 1 < providerHeaders.length; place += 2) {
    const name = (providerHeaders[place] as string).toLowerCase();
    const isHeldBack = NOT_RETURNED.has(name) || name.startsWith("proxy-") || name.startsWith("x-ants-");
    if (isHeldBack || named?.has(name) === true) continue;
    headers.push(name === "x-request-id" ? UPSTREAM_REQUEST_ID : name, providerHeaders[place + 1] as string);
  }
  return headers;
}
