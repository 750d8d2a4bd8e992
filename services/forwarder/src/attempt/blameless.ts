import type { ErrorClass } from "@switchyard/core";
import type { RunRequest } from "../request/run-request.ts";
import type { AttemptFailure } from "./attempt-failure.ts";

const ABSENT: ReadonlySet<ErrorClass> = new Set<ErrorClass>(["not_found"]);
const NOT_SERVED: ReadonlySet<ErrorClass> = new Set<ErrorClass>(["not_found", "not_implemented"]);
const NONE: ReadonlySet<ErrorClass> = new Set();

/**
 * What says nothing about a deployment must not bench it (invariant 4): a stored response that is not there is the caller's to mend, and
 * a path that a provider does not have leaves what it serves otherwise as good as ever.
 */
export function blameless(
  failed: AttemptFailure,
  { facts, nativeCall }: Pick<RunRequest, "facts" | "nativeCall">,
): AttemptFailure {
  const absent = nativeCall !== undefined ? NOT_SERVED : facts.continues.length > 0 ? ABSENT : NONE;
  return absent.has(failed.error) ? { ...failed, error: "invalid_request" } : failed;
}
