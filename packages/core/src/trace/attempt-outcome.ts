import type { AttemptOutcome } from "../domain/attempt.ts";
import { RETRYABLE_CLASSES, type ErrorClass } from "../domain/error-class.ts";

/**
 * H1's name for how an attempt ended; it follows from the class alone, not from what the policy made of it.
 *
 * @param error absent when it went well
 * @param benched whether its provider asked for a longer wait than the request had time for (E2)
 */
export function outcomeName(error: ErrorClass | undefined, benched: boolean): AttemptOutcome {
  if (error === undefined) return "ok";
  if (benched) return "benched";
  if (error === "timeout") return "timeout";
  return RETRYABLE_CLASSES.has(error) ? "retryable" : "failed";
}
