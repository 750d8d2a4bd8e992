import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import { rewriteBody } from "@switchyard/providers";
import type { AttemptPlan } from "./attempt.ts";
import type { Account } from "./accounts.ts";
import type { RunRequest } from "./request-run.ts";

/** The exchange that a decision asks for. Throws `FamilyError` for what the family can't address. */
export function planAttempt(order: AttemptOrder, account: Account, request: RunRequest): AttemptPlan {
  const { facts, infer } = request;
  // Tokens are counted only where someone is charged for them: elsewhere the caller's bytes stay as they are (P1, P4).
  const askUsage = facts.stream && facts.endpoint === "chat" && order.price !== undefined;
  const built = account.family.buildRequest({
    endpoint: facts.endpoint,
    account: account.facts,
    model: order.model,
    body: rewriteBody(infer.body, facts, { model: order.model, askUsage }),
    query: infer.query,
    secret: account.secret,
    callerHeaders: request.headers,
  });
  return {
    exchange: {
      ...built,
      connectTimeoutMs: Number(order.connectTimeoutMs),
      headersTimeoutMs: Number(order.timeoutMs),
      idleTimeoutMs: Number(order.streamIdleTimeoutMs),
    },
    family: account.facts.family,
    endpoint: facts.endpoint,
    stripUsage: askUsage && !facts.usageAsked,
    encodingFormat: facts.encodingFormat,
    streams: facts.stream,
    firstTokenTimeoutMs: Number(order.firstTokenTimeoutMs),
    wholeTimeoutMs: order.timeoutCoversBody ? Number(order.timeoutMs) : 0,
  };
}
