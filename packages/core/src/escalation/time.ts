import { isNativeEndpoint } from "../domain/endpoint.ts";
import type { Policy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { RequestFacts } from "../domain/request-facts.ts";

/**
 * ms left for attempts: until `request_timeout` of the group asked for (E4, G3) or the caller's own deadline.
 * Infinity where neither bounds it, never below 0.
 */
export function timeLeftMs(asked: Policy, facts: RequestFacts, now: EpochMs): number {
  let end = asked.requestTimeoutMs > 0 ? facts.arrivedAt + asked.requestTimeoutMs : Number.POSITIVE_INFINITY;
  if (facts.deadline !== undefined && facts.deadline < end) end = facts.deadline;
  return Math.max(0, end - now);
}

/**
 * Bound of one attempt, ms, 0 = none: the current group's attempt time-out, longer by `timeoutMultiplier` for each
 * deployment tried before (E10), but never past the time left.
 *
 * @param leftMs time left when the attempt starts, after its delay
 * @param candidates deployments of the group that can serve the request, tried ones included
 */
export function attemptTimeoutMs(
  policy: Policy,
  facts: RequestFacts,
  leftMs: number,
  deploymentsTried: number,
  candidates: number,
): number {
  const applies =
    policy.attemptTimeoutWhen === "always" ||
    (candidates > 1 && facts.endpoint !== "native" && !isNativeEndpoint(facts.endpoint));
  const own =
    applies && policy.attemptTimeoutMs > 0
      ? policy.attemptTimeoutMs * policy.failover.timeoutMultiplier ** deploymentsTried
      : Number.POSITIVE_INFINITY;
  const bound = Math.min(own, leftMs);
  return Number.isFinite(bound) ? Math.max(1, Math.round(bound)) : 0;
}
