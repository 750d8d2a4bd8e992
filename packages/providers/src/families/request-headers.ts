/**
 * What never goes from a caller to a provider (P9, BH-36): who the caller is to the gateway, what belongs to the caller's connection,
 * what the gateway says itself. All else goes, so new headers of a provider work the day they appear.
 */
const NOT_SENT: ReadonlySet<string> = new Set([
  "authorization",
  "x-api-key",
  "api-key",
  "x-goog-api-key",
  "x-provider-key",
  "cookie",
  "cookie2",
  "connection",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "http2-settings",
  "host",
  "expect",
  "content-length",
  "content-encoding",
  "content-type",
  "accept-encoding",
  "forwarded",
  "x-real-ip",
  "via",
  // The account says whose request it is, not the caller.
  "openai-organization",
  "openai-project",
]);

const NOT_SENT_PREFIXES: readonly string[] = ["proxy-", "x-forwarded-", "x-ants-"];

/**
 * The headers of a provider request: `own` first, then those of the caller that may cross. The provider is asked for plain bytes,
 * since they are looked at on their way.
 */
export function requestHeaders(callerHeaders: readonly string[], own: readonly string[]): string[] {
  const headers = ["content-type", "application/json", "accept-encoding", "identity", ...own];
  const named = namedByConnection(callerHeaders);
  for (let place = 0; place + 1 < callerHeaders.length; place += 2) {
    const name = (callerHeaders[place] as string).toLowerCase();
    if (!isSent(name) || named?.has(name) === true) continue;
    headers.push(name, callerHeaders[place + 1] as string);
  }
  return headers;
}

function isSent(name: string): boolean {
  if (NOT_SENT.has(name)) return false;
  for (const prefix of NOT_SENT_PREFIXES) {
    if (name.startsWith(prefix)) return false;
  }
  return true;
}

/** Names that a `Connection` header makes hop-by-hop, in lower case. */
export function namedByConnection(headers: readonly string[]): ReadonlySet<string> | undefined {
  let named: Set<string> | undefined;
  for (let place = 0; place + 1 < headers.length; place += 2) {
    const name = headers[place] as string;
    if (name.length !== 10 || name.toLowerCase() !== "connection") continue;
    const value = (headers[place + 1] as string).toLowerCase();
    if (value === "keep-alive" || value === "close") continue;
    named ??= new Set();
    for (const token of value.split(",")) named.add(token.trim());
  }
  return named;
}
