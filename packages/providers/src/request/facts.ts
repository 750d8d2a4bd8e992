import type { Endpoint } from "@switchyard/core";
import { KeySlots, readString, scanDocument, scanObject, valueStart } from "../json/scan.ts";
import { takeEncryptedSeen, takeIdSeen } from "../json/skip.ts";
import { decodeUtf8 } from "../json/text.ts";
import { readItemReferences } from "./item-references.ts";
import {
  CONVERSATION,
  ENCODING_FORMAT,
  INPUT,
  INSTRUCTIONS,
  MAX_COMPLETION_TOKENS,
  MAX_OUTPUT_TOKENS,
  MAX_TOKENS,
  MESSAGES,
  METADATA,
  MODEL,
  MODEL_IN_OTHER_CASE,
  PREVIOUS_RESPONSE,
  PROMPT_CACHE_KEY,
  REQUEST_KEYS,
  STORE,
  STREAM,
  STREAM_OPTIONS,
  STREAM_OPTIONS_KEYS,
  CONVERSATION_KEYS,
  SYSTEM,
  USER,
} from "./keys.ts";

/** Bytes from `start` up to, not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** Where things stand in the body that the facts were read from. Of a key given twice it is the last, as a parser has it. */
export interface BodyLayout {
  /** Position of the object's `{`. */
  readonly open: number;
  readonly model: ByteRange | undefined;
  /** `model` occurs twice, or in another case too, so more than one place must change. */
  readonly modelRepeated: boolean;
  readonly streamOptions: ByteRange | undefined;
  readonly streamOptionsRepeated: boolean;
  readonly messages: ByteRange | undefined;
  readonly input: ByteRange | undefined;
  readonly system: ByteRange | undefined;
  readonly instructions: ByteRange | undefined;
  readonly promptCacheKey: ByteRange | undefined;
  readonly user: ByteRange | undefined;
  readonly metadata: ByteRange | undefined;
}

/** The few facts of a body that routing needs. */
export interface BodyFacts {
  readonly endpoint: Endpoint;
  /** As the caller wrote it, maybe empty. Absent when the key is missing or null (R2). */
  readonly model: string | undefined;
  /** Always false for endpoints that do not stream. */
  readonly stream: boolean;
  /** Size of the body, bytes. */
  readonly bodyBytes: number;
  /** The caller's bound on output tokens, under any of its names. */
  readonly maxOutputTokens: number | undefined;
  /** The caller asked for the usage chunk itself (`stream_options.include_usage`), so it stays in the stream (P4). */
  readonly usageAsked: boolean;
  /** Embeddings: the format asked for. Absent means numbers. */
  readonly encodingFormat: "float" | "base64" | undefined;
  /** Responses: ids of what it continues, a response, a conversation or single items that one account keeps (P8). */
  readonly continues: readonly string[];
  /** Responses: the answer is to be kept, which goes without saying (P8). */
  readonly store: boolean;
  /** It holds a key `encrypted_content`, somewhere below its own keys (BH-31). */
  readonly encrypted: boolean;
  readonly layout: BodyLayout;
}

/** Why a body can't be routed: a 400 with this `code`; `param` names the field at fault. */
export interface BodyFault {
  readonly code: "invalid_json" | "invalid_request";
  readonly message: string;
  readonly param: string | null;
}

/** The facts of a body, or why it is none. */
export type RequestFactsResult =
  | { readonly ok: true; readonly facts: BodyFacts }
  | { readonly ok: false; readonly fault: BodyFault };

const OPEN_BRACE = 0x7b;
const OPEN_BRACKET = 0x5b;
const QUOTE = 0x22;
const LETTER_N = 0x6e;
const LETTER_T = 0x74;
const LETTER_F = 0x66;

// One of each is enough: a scan is over before the next one starts.
const slots = new KeySlots(REQUEST_KEYS);
const optionSlots = new KeySlots(STREAM_OPTIONS_KEYS);
const conversationSlots = new KeySlots(CONVERSATION_KEYS);
const NOTHING: readonly string[] = [];

/**
 * Reads what routing needs from a body, and refuses only what can't be routed: no JSON object, no list of messages (chat, messages,
 * count_tokens), no input (embeddings), a model that is no string, a stream flag that is no boolean. The rest is the provider's to judge, and
 * of a native endpoint all but the model.
 */
export function readRequestFacts(endpoint: Endpoint, bytes: Uint8Array): RequestFactsResult {
  takeEncryptedSeen();
  takeIdSeen();
  if (!scanDocument(bytes, REQUEST_KEYS, slots)) {
    return fault("invalid_json", "The request body is not a valid JSON object.", null);
  }
  const modelByte = firstByte(bytes, MODEL);
  if (modelByte !== undefined && modelByte !== QUOTE) return invalid("model", "must be a string");
  const streamByte = firstByte(bytes, STREAM);
  const isFlag = streamByte === undefined || streamByte === LETTER_T || streamByte === LETTER_F;
  if (!isFlag && endpoint !== "native") {
    return invalid("stream", "must be a boolean");
  }
  if (endpoint === "embeddings") {
    if (firstByte(bytes, INPUT) === undefined) return invalid("input", "is required");
  } else if (endpoint !== "responses" && endpoint !== "native") {
    const messagesByte = firstByte(bytes, MESSAGES);
    if (messagesByte === undefined) return invalid("messages", "is required");
    if (messagesByte !== OPEN_BRACKET) return invalid("messages", "must be an array");
  }
  const streams = endpoint !== "embeddings" && endpoint !== "count_tokens";
  return {
    ok: true,
    facts: {
      endpoint,
      model: modelByte === undefined ? undefined : readString(bytes, slots.start(MODEL), slots.end(MODEL)),
      stream: streams && streamByte === LETTER_T,
      bodyBytes: bytes.length,
      maxOutputTokens:
        readCount(bytes, MAX_COMPLETION_TOKENS) ??
        readCount(bytes, MAX_OUTPUT_TOKENS) ??
        readCount(bytes, MAX_TOKENS),
      usageAsked: readUsageAsked(bytes),
      encodingFormat: endpoint === "embeddings" ? readEncodingFormat(bytes) : undefined,
      continues: endpoint === "responses" ? readContinued(bytes) : NOTHING,
      store: endpoint === "responses" && firstByte(bytes, STORE) !== LETTER_F,
      encrypted: takeEncryptedSeen(),
      layout: readLayout(bytes),
    },
  };
}

function fault(code: BodyFault["code"], message: string, param: string | null): RequestFactsResult {
  return { ok: false, fault: { code, message, param } };
}

function invalid(field: string, problem: string): RequestFactsResult {
  return fault("invalid_request", `'${field}' ${problem}.`, field);
}

/** First byte of a key's value; absent for null as for no value, since null says nothing. */
function firstByte(bytes: Uint8Array, key: number): number | undefined {
  if (!slots.has(key)) return undefined;
  const byte = bytes[slots.start(key)];
  return byte === LETTER_N ? undefined : byte;
}

function range(key: number): ByteRange | undefined {
  return slots.has(key) ? { start: slots.start(key), end: slots.end(key) } : undefined;
}

function readLayout(bytes: Uint8Array): BodyLayout {
  return {
    open: valueStart(bytes),
    model: range(MODEL),
    modelRepeated: slots.count(MODEL) + slots.count(MODEL_IN_OTHER_CASE) > 1,
    streamOptions: range(STREAM_OPTIONS),
    streamOptionsRepeated: slots.count(STREAM_OPTIONS) > 1,
    messages: range(MESSAGES),
    input: range(INPUT),
    system: range(SYSTEM),
    instructions: range(INSTRUCTIONS),
    promptCacheKey: range(PROMPT_CACHE_KEY),
    user: range(USER),
    metadata: range(METADATA),
  };
}

function readCount(bytes: Uint8Array, key: number): number | undefined {
  if (!slots.has(key)) return undefined;
  const first = bytes[slots.start(key)] as number;
  if (first < 0x30 || first > 0x39) return undefined;
  const count = Number(decodeUtf8(bytes, slots.start(key), slots.end(key)));
  return Number.isSafeInteger(count) ? count : undefined;
}

function readUsageAsked(bytes: Uint8Array): boolean {
  if (firstByte(bytes, STREAM_OPTIONS) !== OPEN_BRACE) return false;
  scanObject(bytes, slots.start(STREAM_OPTIONS), bytes.length, STREAM_OPTIONS_KEYS, optionSlots);
  return optionSlots.has(0) && bytes[optionSlots.start(0)] === LETTER_T;
}

function readEncodingFormat(bytes: Uint8Array): "float" | "base64" | undefined {
  if (firstByte(bytes, ENCODING_FORMAT) !== QUOTE) return undefined;
  const format = readString(bytes, slots.start(ENCODING_FORMAT), slots.end(ENCODING_FORMAT));
  return format === "float" || format === "base64" ? format : undefined;
}

function readContinued(bytes: Uint8Array): readonly string[] {
  const ids: string[] = [];
  if (firstByte(bytes, PREVIOUS_RESPONSE) === QUOTE) {
    ids.push(readString(bytes, slots.start(PREVIOUS_RESPONSE), slots.end(PREVIOUS_RESPONSE)));
  }
  const conversation = firstByte(bytes, CONVERSATION);
  if (conversation === QUOTE) {
    ids.push(readString(bytes, slots.start(CONVERSATION), slots.end(CONVERSATION)));
  } else if (conversation === OPEN_BRACE) {
    scanObject(bytes, slots.start(CONVERSATION), bytes.length, CONVERSATION_KEYS, conversationSlots);
    if (conversationSlots.has(0) && bytes[conversationSlots.start(0)] === QUOTE) {
      ids.push(readString(bytes, conversationSlots.start(0), conversationSlots.end(0)));
    }
  }
  if (takeIdSeen() && slots.has(INPUT))
    ids.push(...readItemReferences(bytes, slots.start(INPUT), slots.end(INPUT)));
  return ids;
}
