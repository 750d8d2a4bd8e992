import type { ErrorClass } from "@switchyard/core";

const STATUS: Readonly<Partial<Record<ErrorClass, number>>> = {
  rate_limited: 429,
  quota_exhausted: 429,
  overloaded: 503,
  server_error: 500,
  request_timeout: 408,
  conflict: 409,
  invalid_request: 400,
  payload_too_large: 413,
  context_length: 400,
  content_filter: 400,
  not_implemented: 501,
  auth: 401,
  permission: 403,
  not_found: 404,
  rejected: 400,
};

/** E7: the status of an error that came inside a stream that had begun with 200. */
export function statusOfClass(error: ErrorClass): number {
  return STATUS[error] ?? 502;
}
