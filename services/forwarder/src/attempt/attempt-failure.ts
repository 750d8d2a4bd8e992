import type { ErrorClass } from "@switchyard/core";
import type { StreamReader } from "@switchyard/providers";
import { recogniseError } from "@switchyard/providers";
import type { ExchangeError, ExchangeHead } from "@switchyard/upstream";
import { decodeText, headerOf } from "../bytes.ts";
import type { RealAnswer } from "./real-answer.ts";
import { Redactor } from "./redact.ts";

/** How much of an error body recognition reads. */
const RECOGNISED_BYTES = 64 * 1024;

/** Why an attempt did not serve the caller. */
export interface AttemptFailure {
  readonly error: ErrorClass;
  /** HTTP status, where the provider answered. */
  readonly status: number | undefined;
  /** What the provider asked to wait, ms. */
  readonly retryAfterMs: number | undefined;
  /** The provider's words, or ours about the connection; fit for the caller. */
  readonly message: string;
  /** What it answered; `unusable` when that was a success without a usable answer. */
  readonly answer: RealAnswer | "unusable" | undefined;
}

/** What the caller gets for a request that no provider can be sent: a header in it is none. */
const NOT_SENDABLE: RealAnswer = {
  status: 400,
  headers: [],
  body: new TextEncoder().encode(
    '{"error":{"message":"a header of the request can\'t be passed on","type":"invalid_request_error","code":"invalid_request","param":null}}',
  ),
};

/** The failure that a broken exchange is, before anything reached the caller. */
export function exchangeFailure(
  error: ExchangeError,
  status: number | undefined,
  streams: boolean,
): AttemptFailure {
  // The caller's own mistake: it must not bench anybody (invariant 4).
  if (error.code === "INVALID_REQUEST") {
    const { message } = error;
    return { error: "invalid_request", status, retryAfterMs: undefined, message, answer: NOT_SENDABLE };
  }
  return {
    error: classOf(error, streams),
    status,
    retryAfterMs: undefined,
    message: error.message,
    answer: status === undefined ? undefined : "unusable",
  };
}

function classOf(error: ExchangeError, streams: boolean): ErrorClass {
  switch (error.phase) {
    case "dns":
    case "connect":
    case "tls":
    case "send":
    case "before_headers":
      return "unreachable";
    case "headers_timeout":
      return "timeout";
    case "body":
    case "idle_timeout":
    case "decode":
      return streams ? "stream_error" : "invalid_response";
  }
}

/** Who answered, as far as reading its errors needs it. */
export interface Answered {
  readonly family: string;
  /** What was sent as credential, to keep it out of what comes back (P9). */
  readonly secret: string | undefined;
  readonly now: () => number;
}

/** What a provider said is wrong: as its answer, or inside an answer that began as a success. */
export function providerFailure(
  from: Answered,
  head: ExchangeHead,
  said: Uint8Array,
  inStream: boolean,
): AttemptFailure {
  // Where a provider sends its callers is not for ours: they would take their key there. Beyond 599 there is no HTTP that could be told.
  if ((head.status < 400 || head.status > 599) && !inStream) {
    return unusable(head, `the provider answered with status ${head.status}, which is no answer`);
  }
  const redactor = new Redactor(from.secret);
  const answer = redactor.answer({ status: head.status, headers: head.headers, body: said });
  const recognised = recogniseError(
    {
      family: from.family,
      status: head.status,
      headers: (name) => headerOf(answer.headers, name),
      body: decodeText(answer.body.subarray(0, RECOGNISED_BYTES)),
      inStream,
    },
    from.now(),
  );
  const { class: error, retryAfterMs, message } = recognised;
  return { error, status: head.status, retryAfterMs, message, answer };
}

/** What is wrong with a stream that did not come to its end. */
export function streamFailure(reader: StreamReader, head: ExchangeHead, from: Answered): AttemptFailure {
  if (reader.failure !== undefined) return providerFailure(from, head, reader.failure, true);
  if (!reader.overflowed && reader.done) return unusable(head, "the provider's stream held no answer");
  return {
    error: "stream_error",
    status: head.status,
    retryAfterMs: undefined,
    message: reader.overflowed
      ? "the provider's stream held an event that is too large or damaged"
      : "the provider's stream ended before its answer was complete",
    answer: "unusable",
  };
}

/** A success without a usable answer. */
export function unusable(head: ExchangeHead | undefined, message: string): AttemptFailure {
  const error = "invalid_response";
  return { error, status: head?.status, retryAfterMs: undefined, message, answer: "unusable" };
}

/** One of the attempt's own clocks ran out. */
export function timedOut(message: string): AttemptFailure {
  return { error: "timeout", status: undefined, retryAfterMs: undefined, message, answer: undefined };
}
