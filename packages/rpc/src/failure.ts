import { type ErrorInfo, ErrorInfoSchema } from "@switchyard/proto/google/rpc/error_details";
import { Code, ConnectError } from "@connectrpc/connect";

const domain = "switchyard";

/** A refusal or a fault as services speak of it: contracts section 3. */
export interface Failure {
  /** `code` of contracts section 3, such as `rate_limit_exceeded`; `internal_error` for faults of our own. */
  code: string;
  /** HTTP status the caller sees. */
  status: number;
  /** Safe to show to the caller. */
  message: string;
  connectCode: Code;
  /** What else the other end should know, such as `retry_after_ms`; without `status`. */
  metadata: Readonly<Record<string, string>>;
}

export interface FailureOptions {
  /** HTTP status; decides the Connect code. */
  status: number;
  metadata?: Readonly<Record<string, string>> | undefined;
  /** Kept for the log of this process; never sent. */
  cause?: unknown;
}

/** A ConnectError that carries a `code` of contracts section 3 and its HTTP status as `google.rpc.ErrorInfo`. */
export function failure(code: string, message: string, options: FailureOptions): ConnectError {
  const metadata = { ...options.metadata, status: String(options.status) };
  const detail = { desc: ErrorInfoSchema, value: { reason: code, domain, metadata } };
  return new ConnectError(message, connectCodeOf(options.status), undefined, [detail], options.cause);
}

/** What a caught value means. Anything that is no ConnectError is our own fault, and its text is not repeated. */
export function readFailure(error: unknown): Failure {
  if (!(error instanceof ConnectError)) {
    return {
      code: "internal_error",
      status: 500,
      message: "internal error",
      connectCode: Code.Internal,
      metadata: {},
    };
  }
  const fallback = meanings[error.code] ?? internal;
  const info = findInfo(error);
  if (info === undefined) {
    return { ...fallback, message: error.rawMessage, connectCode: error.code, metadata: {} };
  }
  const { status, ...metadata } = info.metadata;
  const number = Number(status);
  const valid = Number.isInteger(number) && number >= 400 && number <= 599;
  return {
    code: info.reason === "" ? fallback.code : info.reason,
    status: valid ? number : fallback.status,
    message: error.rawMessage,
    connectCode: error.code,
    metadata,
  };
}

/** Any caught value as a ConnectError; the text of foreign errors stays here, as its cause. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  return new ConnectError("internal error", Code.Internal, undefined, undefined, error);
}

/** The Connect code for an HTTP status. */
export function connectCodeOf(status: number): Code {
  switch (status) {
    case 401:
      return Code.Unauthenticated;
    case 403:
      return Code.PermissionDenied;
    case 404:
      return Code.NotFound;
    case 409:
      return Code.Aborted;
    case 413:
    case 429:
      return Code.ResourceExhausted;
    case 499:
      return Code.Canceled;
    case 502:
    case 503:
      return Code.Unavailable;
    case 504:
      return Code.DeadlineExceeded;
    default:
      return status >= 400 && status < 500 ? Code.InvalidArgument : Code.Internal;
  }
}

function findInfo(error: ConnectError): ErrorInfo | undefined {
  return error.findDetails(ErrorInfoSchema).find((info) => info.domain === domain);
}

type Meaning = Pick<Failure, "code" | "status">;
const internal: Meaning = { code: "internal_error", status: 500 };
const meanings: Partial<Record<Code, Meaning>> = {
  [Code.InvalidArgument]: { code: "invalid_request", status: 400 },
  [Code.OutOfRange]: { code: "invalid_request", status: 400 },
  [Code.FailedPrecondition]: { code: "invalid_request", status: 400 },
  [Code.Aborted]: { code: "invalid_request", status: 409 },
  [Code.Unauthenticated]: { code: "invalid_api_key", status: 401 },
  [Code.PermissionDenied]: { code: "model_not_allowed", status: 403 },
  [Code.NotFound]: { code: "not_found", status: 404 },
  [Code.Unimplemented]: { code: "not_found", status: 404 },
  [Code.ResourceExhausted]: { code: "rate_limit_exceeded", status: 429 },
  [Code.Canceled]: { code: "client_closed", status: 499 },
  [Code.Unavailable]: { code: "upstream_unavailable", status: 503 },
  [Code.DeadlineExceeded]: { code: "upstream_timeout", status: 504 },
};
