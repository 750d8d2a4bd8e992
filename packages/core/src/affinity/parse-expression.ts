/**
 * F5: a selector, not code. The whole grammar:
 *
 *     request . headers . get ( string )      request . user . sub          request . params name
 *     request . query   . get ( string )      request . user . data names   context . custom names
 *
 * where a name is `.identifier` or `["string"]`. Anything else is a fault of the config, shown with the place where
 * parsing stopped.
 */
import { utf8Bytes } from "./affinity-value.ts";
import type { Selector } from "./selector.ts";
import { createTokens, type Token, type Tokens } from "./tokens.ts";

/** The longest source, UTF-8 bytes. */
export const MAX_EXPRESSION_BYTES = 1_024;
/** The most names and places that an expression may walk through. */
export const MAX_SEGMENTS = 32;

/** A selector, or what is wrong and where: `at` counts UTF-16 units from 0. */
export type ParsedExpression =
  | { readonly ok: true; readonly selector: Selector }
  | { readonly ok: false; readonly at: number; readonly message: string };

/** Headers that differ from request to request: a key that never repeats keeps nothing together. */
const PER_REQUEST_HEADERS: ReadonlySet<string> = new Set([
  "x-request-id",
  "request-id",
  "traceparent",
  "tracestate",
  "x-trace-id",
  "x-amzn-trace-id",
  "x-b3-traceid",
  "x-b3-spanid",
  "cf-ray",
  "idempotency-key",
  "x-stainless-retry-count",
  "date",
  "content-length",
]);

const HEADER_NAME = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;

/** Parses an expression. */
export function parseExpression(source: string): ParsedExpression {
  if (utf8Bytes(source) > MAX_EXPRESSION_BYTES) {
    return { ok: false, at: 0, message: `is longer than ${MAX_EXPRESSION_BYTES} bytes` };
  }
  const tokens = createTokens(source);
  const result = parseRoot(tokens);
  if (!result.ok) return result;
  const rest = tokens.next();
  return rest.kind === "end" ? result : stopped(rest, "the end of the expression");
}

function parseRoot(tokens: Tokens): ParsedExpression {
  const root = tokens.next();
  if (root.kind !== "name" || (root.text !== "request" && root.text !== "context")) {
    return stopped(root, '"request" or "context"');
  }
  const segment = parseSegment(tokens);
  if ("ok" in segment) return segment;
  if (root.text === "context") {
    if (segment.text === "custom") {
      return withPath(tokens, segment, (path) => ({ from: "custom", path }));
    }
    return isRequestId(segment.text)
      ? perRequest(segment, `context.${segment.text}`)
      : stopped(segment, '"custom"');
  }
  switch (segment.text) {
    case "headers":
      return parseGet(tokens, "header");
    case "query":
      return parseGet(tokens, "query");
    case "user":
      return parseUser(tokens);
    case "params":
      return parseParam(tokens);
    default:
      if (isRequestId(segment.text)) return perRequest(segment, `request.${segment.text}`);
      return stopped(segment, '"headers", "query", "user" or "params"');
  }
}

function parseGet(tokens: Tokens, from: "header" | "query"): ParsedExpression {
  const get = parseSegment(tokens);
  if ("ok" in get) return get;
  if (get.text !== "get") return stopped(get, '"get"');
  const open = tokens.next();
  if (open.kind !== "(") return stopped(open, '"("');
  const name = tokens.next();
  if (name.kind !== "string" || name.text === "") return stopped(name, "a name in quotes");
  const close = tokens.next();
  if (close.kind !== ")") return stopped(close, '")"');
  if (from === "query") return { ok: true, selector: { from, name: name.text } };
  const header = name.text.toLowerCase();
  if (!HEADER_NAME.test(header)) return stopped(name, "the name of a header");
  if (PER_REQUEST_HEADERS.has(header)) return perRequest(name, `the header "${header}"`);
  return { ok: true, selector: { from, name: header } };
}

function parseUser(tokens: Tokens): ParsedExpression {
  const segment = parseSegment(tokens);
  if ("ok" in segment) return segment;
  if (segment.text === "sub") return { ok: true, selector: { from: "user_sub" } };
  if (segment.text !== "data") return stopped(segment, '"sub" or "data"');
  return withPath(tokens, segment, (path) => ({ from: "user_data", path }));
}

function parseParam(tokens: Tokens): ParsedExpression {
  const name = parseSegment(tokens);
  return "ok" in name ? name : { ok: true, selector: { from: "param", name: name.text } };
}

/** One or more names after `before`; counted from the root's first property, at most {@link MAX_SEGMENTS}. */
function withPath(
  tokens: Tokens,
  before: Token,
  make: (path: readonly string[]) => Selector,
): ParsedExpression {
  const path: string[] = [];
  const first = before.text === "data" ? 2 : 1;
  while (tokens.peek().kind === "." || tokens.peek().kind === "[") {
    const segment = parseSegment(tokens);
    if ("ok" in segment) return segment;
    path.push(segment.text);
    if (first + path.length > MAX_SEGMENTS) {
      return { ok: false, at: segment.at, message: `has more than ${MAX_SEGMENTS} property segments` };
    }
  }
  return path.length === 0 ? stopped(tokens.peek(), "a property") : { ok: true, selector: make(path) };
}

/** `.name` or `["name"]`. */
function parseSegment(tokens: Tokens): Token | Extract<ParsedExpression, { ok: false }> {
  const mark = tokens.next();
  if (mark.kind === ".") {
    const name = tokens.next();
    return name.kind === "name" ? name : stopped(name, "the name of a property");
  }
  if (mark.kind !== "[") return stopped(mark, '"."');
  const name = tokens.next();
  if (name.kind !== "string") return stopped(name, "a name in quotes");
  const close = tokens.next();
  return close.kind === "]" ? name : stopped(close, '"]"');
}

function isRequestId(name: string): boolean {
  return /^(incoming)?(request|trace|span|correlation|invocation)_?id$/i.test(name);
}

function perRequest(token: Token, what: string): Extract<ParsedExpression, { ok: false }> {
  return {
    ok: false,
    at: token.at,
    message: `${what} differs from request to request and keeps none together`,
  };
}

function stopped(token: Token, expected: string): Extract<ParsedExpression, { ok: false }> {
  const found = token.kind === "end" ? "the expression ends" : `${JSON.stringify(token.text)} stands`;
  return {
    ok: false,
    at: token.at,
    message: `${found} at position ${token.at + 1} where ${expected} should be`,
  };
}
