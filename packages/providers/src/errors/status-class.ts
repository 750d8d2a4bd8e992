import type { ErrorClass } from "@switchyard/core";

const classes: ReadonlyMap<number, ErrorClass> = new Map<number, ErrorClass>([
  [400, "invalid_request"],
  [401, "auth"],
  [402, "quota_exhausted"],
  [403, "permission"],
  [404, "not_found"],
  [408, "request_timeout"],
  [409, "conflict"],
  [413, "payload_too_large"],
  [422, "invalid_request"],
  [429, "rate_limited"],
  [501, "not_implemented"],
  [503, "overloaded"],
  [529, "overloaded"],
]);

const reasons: ReadonlyMap<number, string> = new Map([
  [400, "Bad Request"],
  [401, "Unauthorized"],
  [402, "Payment Required"],
  [403, "Forbidden"],
  [404, "Not Found"],
  [405, "Method Not Allowed"],
  [408, "Request Timeout"],
  [409, "Conflict"],
  [413, "Payload Too Large"],
  [415, "Unsupported Media Type"],
  [422, "Unprocessable Content"],
  [429, "Too Many Requests"],
  [500, "Internal Server Error"],
  [501, "Not Implemented"],
  [502, "Bad Gateway"],
  [503, "Service Unavailable"],
  [504, "Gateway Timeout"],
  [529, "Overloaded"],
]);

/**
 * The class an HTTP status has when the body says no more (semantics section 5).
 * A status that is neither 4xx nor 5xx is `invalid_response`: the caller had no usable answer.
 */
export function classOfStatus(status: number): ErrorClass {
  const known = classes.get(status);
  if (known !== undefined) return known;
  if (status >= 500 && status <= 599) return "server_error";
  if (status >= 400 && status <= 499) return "rejected";
  return "invalid_response";
}

/** A few words for an answer without any text of its own. */
export function reasonOfStatus(status: number): string {
  return reasons.get(status) ?? `HTTP status ${status}`;
}
