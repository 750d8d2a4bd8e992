import type { Fields } from "@switchyard/http1";

/** Hop-by-hop headers of RFC 9110, section 7.6.1, and cookies: they stay on this side in both directions (P9, BH-36). */
const NEVER_CROSS = new Set([
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);

const NOT_SENT = new Set([...NEVER_CROSS, "host", "content-length", "expect", "cookie"]);

/** The header list to send: the same one if nothing in it is this package's own business, else a copy without that. */
export function requestHeaders(headers: readonly string[]): readonly string[] {
  for (let i = 0; i < headers.length; i += 2) {
    if (isNotSent(headers[i] as string)) {
      return withoutOwn(headers);
    }
  }
  return headers;
}

function withoutOwn(headers: readonly string[]): string[] {
  const named = namedBy(connectionValues(headers));
  const kept: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    const name = headers[i] as string;
    if (!isNotSent(name) && !named?.has(name.toLowerCase())) {
      kept.push(name, headers[i + 1] as string);
    }
  }
  return kept;
}

function isNotSent(name: string): boolean {
  const lower = name.toLowerCase();
  return NOT_SENT.has(lower) || lower.startsWith("proxy-");
}

function connectionValues(headers: readonly string[]): string {
  const values: string[] = [];
  for (let i = 0; i + 1 < headers.length; i += 2) {
    if ((headers[i] as string).toLowerCase() === "connection") {
      values.push(headers[i + 1] as string);
    }
  }
  return values.join(",");
}

/** The headers of a response that may cross, flat; `decoded` when its body is handed over without its content coding. */
export function responseHeaders(fields: Fields, decoded: boolean): string[] {
  const { names, values } = fields;
  const connection = fields.list("connection");
  const named = connection === undefined ? null : namedBy(connection);
  const kept: string[] = [];
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i] as string;
    if (!isHeldBack(name, decoded) && !named?.has(name)) {
      kept.push(name, values[i] as string);
    }
  }
  return kept;
}

function isHeldBack(name: string, decoded: boolean): boolean {
  return (
    NEVER_CROSS.has(name) ||
    name === "set-cookie" ||
    name === "set-cookie2" ||
    name.startsWith("proxy-") ||
    (decoded && (name === "content-encoding" || name === "content-length"))
  );
}

/** The header names that a `Connection` value declares hop-by-hop; null for the usual single token. */
function namedBy(connection: string): ReadonlySet<string> | null {
  const value = connection.toLowerCase();
  if (value === "keep-alive" || value === "close" || value === "") {
    return null;
  }
  return new Set(value.split(",").map((token) => token.trim()));
}
