import { valueStart } from "../json/scan.ts";
import { BAD, skipSpace, skipValue } from "../json/skip.ts";
import { type BodyFacts, type BodyFault, readRequestFacts } from "./facts.ts";
import { opaqueFacts } from "./opaque-facts.ts";

/** A call of a native endpoint. */
export interface NativeCall {
  /** As called, which is as the config names it. */
  readonly path: string;
  /** Why the body names no model that could be read. It can still be routed where the key leaves no choice (R2, R3). */
  readonly fault: BodyFault | undefined;
}

/** What a native endpoint's body says, or why it is not forwarded. */
export type NativeFactsResult =
  | { readonly ok: true; readonly facts: BodyFacts; readonly call: NativeCall }
  | { readonly ok: false; readonly fault: BodyFault };

const JSON_TYPE = /[/+]json\b/iu;
const OPEN_BRACE = 0x7b;
/** White space, NUL and the bytes of byte order marks: what may stand before the `{` of some encoding's JSON. */
const LEADING: ReadonlySet<number> = new Set([0x00, 0x09, 0x0a, 0x0d, 0x20, 0xef, 0xbb, 0xbf, 0xfe, 0xff]);

/**
 * Reads what routing needs of a native endpoint's body, which may be anything at all, but for one thing: what a provider might read as a JSON
 * object and we can't is refused, since it could name any model of the account.
 *
 * @param contentType as the caller gave it; without one the body goes as JSON
 */
export function factsOfNative(
  path: string,
  body: Uint8Array,
  contentType: string | undefined,
): NativeFactsResult {
  const read = readRequestFacts("native", body);
  if (read.ok) return { ok: true, facts: read.facts, call: { path, fault: undefined } };
  if (read.fault.code === "invalid_json" && mayBeObject(body, contentType)) return read;
  return { ok: true, facts: opaqueFacts("native", body.length), call: { path, fault: read.fault } };
}

/** Whether a content type is some kind of JSON: `application/json`, `application/problem+json`. */
export function isJsonType(contentType: string): boolean {
  return JSON_TYPE.test(contentType);
}

function mayBeObject(body: Uint8Array, contentType: string | undefined): boolean {
  if (body.length === 0 || isOtherJson(body)) return false;
  return contentType === undefined || isJsonType(contentType) || startsAsObject(body);
}

/** A JSON value of another kind, such as a list, has no members of its own. */
function isOtherJson(body: Uint8Array): boolean {
  const start = valueStart(body);
  if (body[start] === OPEN_BRACE) return false;
  const end = skipValue(body, start, body.length, 0);
  return end !== BAD && skipSpace(body, end, body.length) === body.length;
}

function startsAsObject(body: Uint8Array): boolean {
  let at = 0;
  while (at < body.length && LEADING.has(body[at] as number)) at += 1;
  return body[at] === OPEN_BRACE;
}
