import type { ErrorClass } from "@switchyard/core";
import type { ExchangeError } from "@switchyard/upstream";

/** A provider's own answer, for E7: what the caller gets when everything failed. */
export interface RealAnswer {
  readonly status: number;
  /** Flat, lower-case names; still the provider's. */
  readonly headers: readonly string[];
  readonly body: Uint8Array;
}

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

/** The failure that a broken exchange is, before anything reached the caller. */
export function exchangeFailure(
  error: ExchangeError,
  status: number | undefined,
  streams: boolean,
): AttemptFailure {
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
