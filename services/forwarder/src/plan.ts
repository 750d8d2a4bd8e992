import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import { planExchange } from "@switchyard/providers";
import type { AttemptPlan } from "./attempt.ts";
import type { Account } from "./accounts.ts";
import type { RunRequest } from "./request-run.ts";

/**
 * The exchange that a decision asks for. Throws `TranslationFault` for a request that can't be said to the provider (P2), `FamilyError`
 * for what the family can't address.
 */
export function planAttempt(
  order: AttemptOrder,
  account: Account,
  request: RunRequest,
  now: number,
): AttemptPlan {
  const { facts, infer } = request;
  const plan = planExchange({
    family: account.family,
    account: account.facts,
    model: order.model,
    facts,
    body: infer.body,
    query: infer.query,
    secret: account.secret,
    callerHeaders: request.headers,
    // Tokens are counted only where someone is charged for them: elsewhere the caller's bytes stay as they are (P1, P4).
    countsTokens: order.price !== undefined,
    requestId: request.id,
    now,
  });
  const { signing, ...exchange } = plan.request;
  return {
    exchange: {
      ...exchange,
      connectTimeoutMs: Number(order.connectTimeoutMs),
      headersTimeoutMs: Number(order.timeoutMs),
      idleTimeoutMs: Number(order.streamIdleTimeoutMs),
    },
    signing,
    family: account.facts.family,
    answer: plan,
    streams: facts.stream,
    firstTokenTimeoutMs: Number(order.firstTokenTimeoutMs),
    wholeTimeoutMs: order.timeoutCoversBody ? Number(order.timeoutMs) : 0,
  };
}
