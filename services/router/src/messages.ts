import { create } from "@bufbuild/protobuf";
import type { AttemptDecision, Decided, Endpoint, Explanation, RefuseDecision } from "@switchyard/core";
import { Endpoint as WireEndpoint } from "@switchyard/proto/config/v1/config";
import {
  CandidateExplanationSchema,
  ExplanationSchema,
  GroupExplanationSchema,
  RefusalSchema,
  StepExplanationSchema,
} from "@switchyard/proto/routing/v1/routing_service";
import type {
  Attempt,
  DecideResponse,
  Explanation as WireExplanation,
} from "@switchyard/proto/routing/v1/routing_service";

const ENDPOINTS: ReadonlyMap<WireEndpoint, Endpoint> = new Map([
  [WireEndpoint.CHAT, "chat"],
  [WireEndpoint.EMBEDDINGS, "embeddings"],
  [WireEndpoint.RESPONSES, "responses"],
  [WireEndpoint.MESSAGES, "messages"],
  [WireEndpoint.COUNT_TOKENS, "count_tokens"],
  [WireEndpoint.NATIVE, "native"],
]);

export function endpointFromWire(wire: WireEndpoint): Endpoint {
  return ENDPOINTS.get(wire) ?? "native";
}

export function decisionToWire(decided: Decided, decisionId: string): DecideResponse["decision"] {
  const { decision } = decided;
  return decision.kind === "attempt"
    ? { case: "attempt", value: attemptToWire(decision, decided.history.asked, decisionId) }
    : { case: "refusal", value: refusalToWire(decision) };
}

/** Written as a literal: one is made for every request, and `create` would copy it. */
function attemptToWire(decision: AttemptDecision, asked: string | undefined, decisionId: string): Attempt {
  const { group, deployment } = decision;
  const attempt: Attempt = {
    $typeName: "switchyard.routing.v1.Attempt",
    decisionId,
    group: group.name,
    project: group.project,
    deployment: deployment.id,
    provider: deployment.provider,
    model: deployment.model,
    delayMs: wireMs(decision.delayMs),
    timeoutMs: wireMs(decision.timeoutMs),
    connectTimeoutMs: wireMs(decision.connectTimeoutMs),
    firstTokenTimeoutMs: wireMs(decision.firstTokenTimeoutMs),
    streamIdleTimeoutMs: wireMs(decision.streamIdleTimeoutMs),
    timeoutCoversBody: decision.timeoutCoversBody,
    lastResort: decision.lastResort,
    fallbackKind: decision.fallback ?? "",
    next: decision.next ?? "",
    step: decision.step,
    strategy: group.policy.strategy,
    groupKey: group.key,
    probe: decision.probe,
    affinity: decision.affinity ?? "",
    countsTokens: deployment.limits?.tpm !== undefined || group.policy.strategy === "lowest_usage",
    askedGroupKey: asked ?? group.key,
    shared: isShared(decision),
    hedges: group.policy.hedge !== undefined,
    hedgeAfterMs: wireMs(decision.hedgeAfterMs ?? 0),
  };
  if (deployment.price !== undefined) {
    attempt.price = { $typeName: "switchyard.config.v1.Price", ...deployment.price };
  }
  return attempt;
}

/** BH-31: another account may have served before, or may serve later. */
function isShared({ group, deployment, fallback }: AttemptDecision): boolean {
  return fallback !== undefined || group.deployments.some(({ provider }) => provider !== deployment.provider);
}

function refusalToWire(decision: RefuseDecision) {
  return create(RefusalSchema, {
    status: decision.status,
    code: decision.code,
    message: decision.message,
    exhausted: decision.exhausted,
    final: decision.final ?? false,
    ...(decision.retryAfterMs === undefined ? {} : { retryAfterMs: wireMs(decision.retryAfterMs) }),
  });
}

/** 0 means "no bound" on the wire, so a bound of less than a millisecond stays one. */
function wireMs(ms: number): bigint {
  return ms === 0 || !Number.isFinite(ms) ? 0n : BigInt(Math.max(1, Math.round(ms)));
}

export function explanationToWire(explanation: Explanation): WireExplanation {
  return create(ExplanationSchema, {
    decisionId: explanation.decision,
    configRevision: BigInt(explanation.configRevision),
    healthVersion: BigInt(explanation.healthVersion),
    seed: explanation.seed,
    groups: explanation.groups.map((group) =>
      create(GroupExplanationSchema, {
        group: group.group,
        strategy: group.strategy,
        ...(group.draw === undefined ? {} : { draw: group.draw }),
        candidates: group.candidates.map((candidate) =>
          create(CandidateExplanationSchema, {
            deployment: candidate.deployment,
            verdict: candidate.verdict,
            rule: candidate.rule ?? "",
            ...(candidate.score === undefined ? {} : { score: candidate.score }),
          }),
        ),
      }),
    ),
    steps: explanation.steps.map((step) => create(StepExplanationSchema, step)),
  });
}
