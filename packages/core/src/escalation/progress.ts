import { wasCalled, type FailedAttempt, type History } from "../domain/attempt.ts";
import type { Policy } from "../domain/policy.ts";
import type { RequestFacts } from "../domain/request-facts.ts";

/** How far a request has come, counted from its history. Deployments without a credential count nowhere (R10). */
export interface Progress {
  /** Provider calls made, across deployments and groups (E4). */
  readonly calls: number;
  /** Different deployments called, across groups (E10). */
  readonly deployments: number;
  /** The last entry of the history. */
  readonly last: FailedAttempt | undefined;
  /** The last one that was a call. */
  readonly lastCall: FailedAttempt | undefined;
  /** Same-deployment retries already made at the deployment of `last`. */
  readonly retries: number;
}

const NONE: Progress = { calls: 0, deployments: 0, last: undefined, lastCall: undefined, retries: 0 };

/** Counts a history. */
export function progressOf(history: History): Progress {
  const { attempts } = history;
  if (attempts.length === 0) return NONE;
  let calls = 0;
  let deployments = 0;
  let run = 0;
  let lastCall: FailedAttempt | undefined;
  for (let index = 0; index < attempts.length; index += 1) {
    const attempt = attempts[index];
    if (attempt === undefined || !wasCalled(attempt)) continue;
    calls += 1;
    if (lastCall !== undefined && sameDeployment(lastCall, attempt)) {
      run += 1;
    } else {
      run = 1;
      // A deployment gets no second round, so a new run is a new deployment.
      deployments += 1;
    }
    lastCall = attempt;
  }
  const last = attempts[attempts.length - 1];
  return { calls, deployments, last, lastCall, retries: Math.max(0, run - 1) };
}

function sameDeployment(left: FailedAttempt, right: FailedAttempt): boolean {
  return left.deployment === right.deployment && left.group === right.group;
}

/**
 * Deployments that one request may call (E8, E10, E11): `max_deployments` of the group asked for, and one alone
 * where the request cannot be sent elsewhere. Infinity = all.
 */
export function maxDeployments(asked: Policy, facts: RequestFacts): number {
  const tooLarge = asked.maxRetryBodyBytes > 0 && facts.bodyBytes > asked.maxRetryBodyBytes;
  if (tooLarge || facts.storedResponse || facts.endpoint === "count_tokens" || facts.endpoint === "native") {
    return 1;
  }
  return asked.failover.maxDeployments > 0 ? asked.failover.maxDeployments : Number.POSITIVE_INFINITY;
}

/**
 * Provider calls that one request may make (E4); native endpoints are forwarded once. What the caller's SDK has tried
 * before counts too: each of its tries takes one call away, but never the one that is a failover.
 */
export function maxCalls(asked: Policy, facts: RequestFacts): number {
  if (facts.endpoint === "native") return 1;
  return Math.max(Math.min(2, asked.maxAttempts), asked.maxAttempts - (facts.sdkRetries ?? 0));
}

/** Same-deployment retries that one request may make (E1): a try of the caller's SDK has been one already. */
export function maxRetries(policy: Policy, facts: RequestFacts): number {
  return Math.max(0, policy.retry.maxRetries - (facts.sdkRetries ?? 0));
}
