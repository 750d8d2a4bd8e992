import type { ErrorClass } from "@switchyard/core";
import { ErrorClass as Wire } from "@switchyard/proto/config/v1/policy";

const TO_WIRE: Readonly<Record<ErrorClass, Wire>> = {
  rate_limited: Wire.RATE_LIMITED,
  quota_exhausted: Wire.QUOTA_EXHAUSTED,
  overloaded: Wire.OVERLOADED,
  server_error: Wire.SERVER_ERROR,
  request_timeout: Wire.REQUEST_TIMEOUT,
  conflict: Wire.CONFLICT,
  timeout: Wire.TIMEOUT,
  unreachable: Wire.UNREACHABLE,
  invalid_request: Wire.INVALID_REQUEST,
  payload_too_large: Wire.PAYLOAD_TOO_LARGE,
  context_length: Wire.CONTEXT_LENGTH,
  content_filter: Wire.CONTENT_FILTER,
  not_implemented: Wire.NOT_IMPLEMENTED,
  auth: Wire.AUTH,
  permission: Wire.PERMISSION,
  not_found: Wire.NOT_FOUND,
  rejected: Wire.REJECTED,
  stream_error: Wire.STREAM_ERROR,
  invalid_response: Wire.INVALID_RESPONSE,
  not_ready: Wire.NOT_READY,
  cancelled: Wire.CANCELLED,
};

const FROM_WIRE = new Map<Wire, ErrorClass>(
  Object.entries(TO_WIRE).map(([name, wire]) => [wire, name as ErrorClass]),
);

/** The wire form of an error class; undefined is "it went well". */
export function errorClassToWire(error: ErrorClass | undefined): Wire {
  return error === undefined ? Wire.UNSPECIFIED : TO_WIRE[error];
}

/**
 * The error class of a wire value; undefined is "it went well". A value that this version does not know counts as
 * `rejected`: the sender saw a failure, and a failure must not turn into a success.
 */
export function errorClassFromWire(wire: Wire): ErrorClass | undefined {
  return wire === Wire.UNSPECIFIED ? undefined : (FROM_WIRE.get(wire) ?? "rejected");
}
