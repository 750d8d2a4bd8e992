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

/** Headers that belong to one vendor's dialect. */
const DIALECT_PREFIXES: readonly string[] = ["anthropic-", "openai-"];

/**
 * The caller's headers that an exchange may use: where the provider speaks another dialect than the caller, without those of any dialect
 * but `own`, the provider's.
 */
export function callerHeadersOf(
  input: { readonly callerHeaders: readonly string[]; readonly translated?: boolean | undefined },
  own?: string,
): readonly string[] {
  if (input.translated !== true) return input.callerHeaders;
  const kept: string[] = [];
  for (let place = 0; place + 1 < input.callerHeaders.length; place += 2) {
    const name = (input.callerHeaders[place] as string).toLowerCase();
    if (DIALECT_PREFIXES.some((prefix) => prefix !== own && name.startsWith(prefix))) continue;
    kept.push(name, input.callerHeaders[place + 1] as string);
  }
  return kept;
}

/** The betas that `anthropic-beta` names, over all its lines. */
export function betasOf(headers: readonly string[]): readonly string[] {
  const betas: string[] = [];
  for (let place = 0; place + 1 < headers.length; place += 2) {
    if ((headers[place] as string).toLowerCase() !== "anthropic-beta") continue;
    for (const beta of (headers[place + 1] as string).split(",")) {
      const name = beta.trim();
      if (name !== "" && !betas.includes(name)) betas.push(name);
    }
  }
  return betas;
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
