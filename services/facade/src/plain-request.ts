import { maxHeadBytes, parseRequestHead } from "@switchyard/http1";
import { RequestHead } from "./request-head.ts";
import { findNativeRoute, findRoute, type Route, splitTarget } from "./routes.ts";

/** A request that the fast lane reads itself. */
export interface PlainRequest {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly route: Route;
  readonly head: RequestHead;
}

/** Above this a header block is node:http's to read, bytes. */
export const MAX_PLAIN_HEAD = maxHeadBytes;

const METHODS = new Set(["POST", "GET", "HEAD", "DELETE", "PUT", "PATCH"]);
const BODY_EXPECTED = new Set(["POST", "PUT", "PATCH"]);

/**
 * The request whose header block this is, without its empty line. Undefined for whatever is not plain: malformed by the
 * strictest reading, on a path or with a method that is refused, with a body of unknown or of too large a size, or with
 * any header that changes the framing. What it takes, node:http would take with the same framing.
 */
export function readPlainRequest(
  text: string,
  maxBodyBytes: number,
  nativePaths: () => ReadonlySet<string>,
): PlainRequest | undefined {
  const parsed = parseRequestHead(text);
  if (parsed === undefined) return undefined;
  const { method, fields } = parsed;
  if (!METHODS.has(method)) return undefined;
  const { path, query } = splitTarget(parsed.path);
  const route = findRoute(path) ?? findNativeRoute(path, nativePaths());
  if (route === undefined || !route.allow.includes(method)) return undefined;
  const head = new RequestHead();
  const { names, values } = fields;
  for (let at = 0; at < names.length; at += 1) head.take(names[at] as string, values[at] as string);
  head.finish();
  if (!head.plain) return undefined;
  const { contentLength } = head;
  if (contentLength === undefined ? BODY_EXPECTED.has(method) : contentLength > maxBodyBytes)
    return undefined;
  return { method, path, query, route, head };
}

/** Whether the beginning of a header block can still become a plain request's. `text` ends with a whole line or is empty. */
export function mayBecomePlain(text: string): boolean {
  return text === "" || parseRequestHead(text) !== undefined;
}
