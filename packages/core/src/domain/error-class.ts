/** What went wrong with an attempt: the closed list of semantics section 5. */
export const ERROR_CLASSES = [
  "rate_limited",
  "quota_exhausted",
  "overloaded",
  "server_error",
  "request_timeout",
  "conflict",
  "timeout",
  "unreachable",
  "invalid_request",
  "payload_too_large",
  "context_length",
  "content_filter",
  "not_implemented",
  "auth",
  "permission",
  "not_found",
  "rejected",
  "stream_error",
  "invalid_response",
  "not_ready",
  "cancelled",
] as const;

/** One of {@link ERROR_CLASSES}. */
export type ErrorClass = (typeof ERROR_CLASSES)[number];

/** A set of classes as policies hold it: membership is asked on the hot path. */
export type ErrorClassSet = ReadonlySet<ErrorClass>;

/** Classes that E1 lets a policy try again on the same deployment. */
export const RETRYABLE_CLASSES: ErrorClassSet = new Set<ErrorClass>([
  "rate_limited",
  "overloaded",
  "server_error",
  "request_timeout",
  "conflict",
  "timeout",
  "unreachable",
]);

/** The caller's own mistakes: never retried, never moved within the group (E1), never counted (B1). */
export const MERIT_CLASSES: ErrorClassSet = new Set<ErrorClass>([
  "invalid_request",
  "payload_too_large",
  "context_length",
  "content_filter",
]);

/** Classes that section 5 counts for benching. */
export const COUNTED_CLASSES: ErrorClassSet = new Set<ErrorClass>(
  ERROR_CLASSES.filter((name) => !MERIT_CLASSES.has(name) && name !== "not_ready" && name !== "cancelled"),
);

/** How an outcome weighs on health (invariant 4): `ignored` moves nothing. */
export type Verdict = "ok" | "failed" | "ignored";

/** The verdict of an attempt that ended with `error`, or without one. */
export function verdictOf(error: ErrorClass | undefined): Verdict {
  if (error === undefined) return "ok";
  return COUNTED_CLASSES.has(error) ? "failed" : "ignored";
}
