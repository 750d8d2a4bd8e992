import type { ErrorClass } from "@switchyard/core";
import { readErrorFacts, type ErrorFacts } from "./error-facts.ts";
import type { ErrorRule } from "./error-rule.ts";
import { broadCodes, tellingCodes, timeoutCodes } from "./known-codes.ts";
import { wordings } from "./known-wordings.ts";
import { bodyRetryAfterMs, retryAfterMs } from "./retry-after.ts";
import { classOfStatus } from "./status-class.ts";

/** An answer of a provider that is an error, or an error event of a stream that had begun. */
export interface ProviderAnswer {
  /** The provider family, e.g. `openai`; kept for the record, recognition does not depend on it. */
  readonly family: string;
  /** The HTTP status; of an in-stream error the status the stream began with. */
  readonly status: number;
  /** Looks a header up by its lower-case name; for an event-stream frame also `:exception-type`. */
  readonly headers: (name: string) => string | undefined;
  /** The body, or the data of the event; what exceeds 64 KiB is not read. */
  readonly body: string;
  readonly inStream: boolean;
}

/** What was recognised (P5, P6, semantics section 5). */
export interface RecognisedError {
  readonly class: ErrorClass;
  /** The provider's own words, at most 1 KiB of UTF-8; a reason phrase where the body is empty. */
  readonly message: string;
  readonly type?: string;
  readonly code?: string;
  readonly param?: string | null;
  /** See {@link retryAfterMs}; where no header says it, what the body says. */
  readonly retryAfterMs?: number;
}

const bodyLimit = 65_536;
const messageLimit = 1024;
const wordLimit = 256;
/** Headers in which a code may stand, lower-case. */
export const HEADER_CODES: readonly string[] = ["x-amzn-errortype", ":exception-type", ":error-code"];

/**
 * Recognises an error answer. Structure comes first: codes that name the cause, then the message's own
 * words, then codes of a kind, then a status named in the body, then the HTTP status. Never throws.
 * @param now epoch milliseconds, to read a `Retry-After` date
 */
export function recogniseError(answer: ProviderAnswer, now: number): RecognisedError {
  const headerCodes = HEADER_CODES.flatMap((name) => answer.headers(name) ?? []);
  const body = answer.body.slice(0, bodyLimit);
  const facts = readErrorFacts(answer.status, body, headerCodes);
  const wait = retryAfterMs(answer.headers, now) ?? bodyRetryAfterMs(body);
  return {
    class: classOf(facts, answer),
    message: truncate(facts.message, messageLimit),
    ...(facts.type === undefined ? {} : { type: truncate(facts.type, wordLimit) }),
    ...(facts.code === undefined ? {} : { code: truncate(facts.code, wordLimit) }),
    ...(facts.param === undefined
      ? {}
      : { param: facts.param === null ? null : truncate(facts.param, wordLimit) }),
    ...(wait === undefined ? {} : { retryAfterMs: wait }),
  };
}

function classOf(facts: ErrorFacts, answer: ProviderAnswer): ErrorClass {
  const status = statusToJudge(answer.status, facts.bodyStatus);
  return (
    byCode(tellingCodes, facts, status) ??
    byWording(facts, status) ??
    timeoutClass(facts, status, answer) ??
    byCode(broadCodes, facts, status) ??
    fallback(status, answer)
  );
}

/**
 * The body's own status counts where the HTTP status hides it: an error inside a 2xx, a 400 or 5xx that wraps
 * an account's or another provider's refusal.
 */
function statusToJudge(status: number, inBody: number | undefined): number {
  if (inBody === undefined || inBody === status) return status;
  if (status >= 200 && status <= 299) return inBody;
  if (status === 400 && inBody !== 422 && inBody !== 413) return inBody;
  if (status >= 500 && [402, 429, 503, 529].includes(inBody)) return inBody;
  return status;
}

function byCode(rules: readonly ErrorRule[], facts: ErrorFacts, status: number): ErrorClass | undefined {
  for (const rule of rules) {
    if (!rule.at(status)) continue;
    for (const code of facts.codes) if (rule.pattern.test(code)) return rule.class;
  }
  return undefined;
}

function byWording(facts: ErrorFacts, status: number): ErrorClass | undefined {
  return wordings.find((rule) => rule.at(status) && rule.pattern.test(facts.text))?.class;
}

/** A time-out keeps its place: 408, 5xx, or inside a stream. */
function timeoutClass(facts: ErrorFacts, status: number, answer: ProviderAnswer): ErrorClass | undefined {
  if (status === 429 || ![...facts.codes].some((code) => timeoutCodes.test(code))) return undefined;
  if (answer.inStream) return "stream_error";
  return status >= 500 ? "server_error" : "request_timeout";
}

function fallback(status: number, answer: ProviderAnswer): ErrorClass {
  if (!answer.inStream) return classOfStatus(status);
  const tellsNoMore = status < 400 || [408, 504, 522, 524].includes(status);
  return tellsNoMore ? "stream_error" : classOfStatus(status);
}

/** At most `limit` bytes of UTF-8, cut between characters. */
function truncate(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text;
  let bytes = 0;
  let end = 0;
  for (const character of text) {
    const point = character.codePointAt(0) ?? 0;
    bytes += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (bytes > limit) return text.slice(0, end);
    end += character.length;
  }
  return text;
}
