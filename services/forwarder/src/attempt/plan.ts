import type { Attempt as AttemptOrder } from "@switchyard/proto/routing/v1/routing_service";
import { originOf, planExchange, planNative, planStored } from "@switchyard/providers";
import type { Account } from "../accounts.ts";
import type { AttemptPlan } from "./attempt-plan.ts";
import type { RunRequest } from "../request/run-request.ts";

/**
 * The exchange that a decision asks for. Throws `TranslationFault` for a request that can't be said to the provider (P2), `ElsewhereFault`
 * for one that another account alone can go on with (BH-31), `FamilyError` for what the family can't address.
 */
export function planAttempt(
  order: AttemptOrder,
  account: Account,
  request: RunRequest,
  now: number,
): AttemptPlan {
  const { facts, infer, storedCall, nativeCall } = request;
  const input = {
    family: account.family,
    account: account.facts,
    model: order.model,
    facts,
    body: infer.body,
    query: infer.query,
    secret: account.secret,
    secretIsToken: account.tokens !== undefined,
    callerHeaders: request.headers,
    // Tokens are counted only where someone is charged for them or a limit goes by them: elsewhere the caller's bytes stay as they are (P1, P4).
    countsTokens: order.price !== undefined || order.countsTokens,
    requestId: request.id,
    now,
    origin: { own: originOf(order.provider), shared: order.shared },
  };
  const times = {
    connectTimeoutMs: Number(order.connectTimeoutMs),
    headersTimeoutMs: Number(order.timeoutMs),
    idleTimeoutMs: Number(order.streamIdleTimeoutMs),
  };
  if (nativeCall !== undefined) {
    const { request: sent, watch } = planNative(input, nativeCall);
    const { signing, ...exchange } = sent;
    return {
      exchange: { ...exchange, ...times },
      signing,
      family: account.facts.family,
      answer: { translated: false, watch },
      streams: facts.stream,
      // Its tokens and its whole are known to nobody here.
      firstTokenTimeoutMs: 0,
      wholeTimeoutMs: 0,
    };
  }
  const plan = storedCall === undefined ? planExchange(input) : planStored(input, storedCall);
  const { signing, ...exchange } = plan.request;
  return {
    exchange: {
      ...exchange,
      ...times,
    },
    signing,
    family: account.facts.family,
    answer: plan,
    streams: facts.stream,
    firstTokenTimeoutMs: Number(order.firstTokenTimeoutMs),
    wholeTimeoutMs: order.timeoutCoversBody ? Number(order.timeoutMs) : 0,
  };
}
