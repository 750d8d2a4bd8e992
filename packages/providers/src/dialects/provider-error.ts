import { readErrorFacts } from "../errors/error-facts.ts";
import { HEADER_CODES } from "../errors/recognise-error.ts";
import { reasonOfStatus } from "../errors/status-class.ts";
import { KeyTable } from "../json/key-table.ts";
import { KeySlots, scanDocument, scanObject } from "../json/scan.ts";
import { decodeUtf8 } from "../json/text.ts";

/** Most of a provider's words that go on when its body had to be mapped, in characters: those of a message, and those of a page (BH-33). */
const MESSAGE_LIMIT = 8192;
const PAGE_LIMIT = 1000;
/** More than any error body; what lies beyond is not read. */
const BODY_LIMIT = 65_536;

const BODY_KEYS = new KeyTable(["type", "error"]);
const ERROR_KEYS = new KeyTable(["message", "type", "status"]);
const bodySlots = new KeySlots(BODY_KEYS);
const errorSlots = new KeySlots(ERROR_KEYS);

const QUOTE = 0x22;
const OPEN_BRACE = 0x7b;

/** What a provider's error body says, in the common fields. */
export interface ProviderError {
  readonly message: string;
  readonly type: string | undefined;
  readonly code: string | null;
  readonly param: string | null;
}

/**
 * Reads a provider's error body of any form (BH-33): objects of other shapes, lists, plain text, HTML, nothing. `headers`: flat, names
 * lower-case; Bedrock's code stands there.
 */
export function readProviderError(
  status: number,
  body: Uint8Array,
  headers: readonly string[] = [],
): ProviderError {
  const text = decodeUtf8(body, 0, Math.min(body.length, BODY_LIMIT));
  const codes = headers.filter((_, at) => at % 2 === 1 && HEADER_CODES.includes(headers[at - 1] as string));
  const facts = readErrorFacts(status, text, codes);
  const message = facts.message.trim();
  const isMessage = /^\s*[[{]/u.test(text) && !message.startsWith("<");
  return {
    message:
      message === "" ? reasonOfStatus(status) : message.slice(0, isMessage ? MESSAGE_LIMIT : PAGE_LIMIT),
    type: facts.type,
    code: facts.code ?? null,
    param: facts.param ?? null,
  };
}

/** Whether a body is `{"error":{"message":"…"}}`, which every OpenAI client reads. */
export function hasErrorMessage(body: Uint8Array): boolean {
  return readErrorObject(body) && isText(body, errorSlots, 0);
}

/** Whether a body is `{"type":"error","error":{"type":"…","message":"…"}}`. */
export function isAnthropicError(body: Uint8Array): boolean {
  return (
    readErrorObject(body) &&
    isText(body, errorSlots, 0) &&
    isText(body, errorSlots, 1) &&
    bodySlots.has(0) &&
    decodeUtf8(body, bodySlots.start(0), bodySlots.end(0)) === '"error"'
  );
}

/** Whether a body is `{"error":{"code":400,"message":"…","status":"INVALID_ARGUMENT"}}`, as Google's APIs have it. */
export function isGoogleError(body: Uint8Array): boolean {
  return (
    readErrorObject(body) && isText(body, errorSlots, 0) && !errorSlots.has(1) && isText(body, errorSlots, 2)
  );
}

function readErrorObject(body: Uint8Array): boolean {
  if (!scanDocument(body, BODY_KEYS, bodySlots)) return false;
  if (!bodySlots.has(1) || body[bodySlots.start(1)] !== OPEN_BRACE) return false;
  scanObject(body, bodySlots.start(1), bodySlots.end(1), ERROR_KEYS, errorSlots);
  return true;
}

function isText(body: Uint8Array, slots: KeySlots, key: number): boolean {
  return slots.has(key) && body[slots.start(key)] === QUOTE;
}
