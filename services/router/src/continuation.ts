import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { errorClassFromWire, errorClassToWire } from "@switchyard/cluster";
import { appendAttempt, EMPTY_HISTORY } from "@switchyard/core";
import type { AttemptDecision, FailedAttempt, FallbackKind, History } from "@switchyard/core";
import { ContinuationSchema } from "@switchyard/proto/routing/v1/continuation";
import type { Continuation } from "@switchyard/proto/routing/v1/continuation";
import type { FailedAttempt as WireFailed } from "@switchyard/proto/routing/v1/routing_service";
import type { Seal } from "./seal.ts";

/** What a router knows again at the next decision for a request. */
export interface Resumed {
  readonly requestId: string;
  readonly keyHash: string;
  readonly revision: number;
  readonly seed: number;
  readonly arrivedAt: number;
  /** With the failed attempts appended. */
  readonly history: History;
  /** The attempts that failed, in the order of their ends: one, or two that ran side by side; none where it runs still. */
  readonly failed: readonly ResumedFailure[];
  /** The attempt that the last decision asked for. */
  readonly pending: PendingCall | undefined;
}

/** An attempt that was decided. */
export interface PendingCall {
  readonly decision: string;
  readonly group: string;
  readonly deployment: string;
  readonly decidedAt: number;
  readonly lastResort: boolean;
  /** B4: whether it probes a benched deployment. */
  readonly probe: boolean;
}

/** An attempt that failed, and how it had been decided. */
export interface ResumedFailure {
  readonly attempt: FailedAttempt;
  readonly call: PendingCall;
}

/** How the attempts failed that a continuation asked for, as its caller tells it. */
export interface ToldFailures {
  readonly failed?: WireFailed | undefined;
  readonly failedBefore?: WireFailed | undefined;
}

/** Seals what the next decision for this request needs. */
export function sealContinuation(
  seal: Seal,
  known: Pick<Resumed, "requestId" | "keyHash" | "revision" | "seed" | "arrivedAt" | "history">,
  pending: { readonly decisionId: string; readonly decision: AttemptDecision; readonly decidedAt: number },
  beside: PendingCall | undefined,
): Uint8Array<ArrayBuffer> {
  const { history } = known;
  const message = create(ContinuationSchema, {
    requestId: known.requestId,
    keyHash: known.keyHash,
    configRevision: BigInt(known.revision),
    asked: history.asked ?? "",
    hops: history.hops.map(({ group, kind }) => ({ group, kind })),
    attempts: history.attempts.map(attemptToWire),
    lastResorts: [...history.lastResorts],
    seed: known.seed,
    arrivedAtMs: BigInt(known.arrivedAt),
    pending: {
      decisionId: pending.decisionId,
      group: pending.decision.group.key,
      deployment: pending.decision.deployment.id,
      decidedAtMs: BigInt(pending.decidedAt),
      lastResort: pending.decision.lastResort,
      probe: pending.decision.probe,
    },
    ...(beside === undefined ? {} : { beside: callToWire(beside) }),
    hedged: history.hedged ?? false,
  });
  return seal.close(toBinary(ContinuationSchema, message));
}

/**
 * Opens a continuation and appends how its attempts failed; undefined when it is not one of ours. Of two that ran side by
 * side both must be told of, by their ids, or nothing is appended.
 */
export function openContinuation(
  seal: Seal,
  sealed: Uint8Array,
  told: ToldFailures,
  now: number,
): Resumed | undefined {
  const payload = seal.open(sealed);
  if (payload === undefined) return undefined;
  const message = fromBinary(ContinuationSchema, payload);
  const pending = callFromWire(message.pending);
  const failed = failuresOf(pending, callFromWire(message.beside), told, now);
  return {
    requestId: message.requestId,
    keyHash: message.keyHash,
    revision: Number(message.configRevision),
    seed: message.seed,
    arrivedAt: Number(message.arrivedAtMs),
    history: failed.reduce((history, { attempt }) => appendAttempt(history, attempt), historyOf(message)),
    failed,
    pending,
  };
}

function failuresOf(
  pending: PendingCall | undefined,
  beside: PendingCall | undefined,
  { failed, failedBefore }: ToldFailures,
  now: number,
): ResumedFailure[] {
  if (pending === undefined || failed === undefined) return [];
  if (beside === undefined) return [failureOf(pending, failed, now)];
  if (failedBefore === undefined) return [];
  const isPending = failed.decisionId === pending.decision;
  const [last, first] = isPending ? [pending, beside] : [beside, pending];
  if (failed.decisionId !== last.decision || failedBefore.decisionId !== first.decision) return [];
  return [failureOf(first, failedBefore, now), failureOf(last, failed, now)];
}

function failureOf(call: PendingCall, failed: WireFailed, now: number): ResumedFailure {
  const attempt: FailedAttempt = {
    decision: call.decision,
    group: call.group,
    deployment: call.deployment,
    error: errorClassFromWire(failed.error) ?? "rejected",
    status: failed.status === 0 ? undefined : failed.status,
    retryAfterMs: failed.retryAfterMs === undefined ? undefined : Number(failed.retryAfterMs),
    startedAt: Math.max(call.decidedAt, now - Number(failed.durationMs)),
    endedAt: now,
  };
  return { attempt, call };
}

function callFromWire(call: Continuation["pending"]): PendingCall | undefined {
  if (call === undefined) return undefined;
  const { decisionId: decision, group, deployment, lastResort, probe } = call;
  return { decision, group, deployment, decidedAt: Number(call.decidedAtMs), lastResort, probe };
}

function callToWire({ decision, decidedAt, ...call }: PendingCall) {
  return { ...call, decisionId: decision, decidedAtMs: BigInt(decidedAt) };
}

function historyOf(message: Continuation): History {
  return {
    ...EMPTY_HISTORY,
    asked: message.asked === "" ? undefined : message.asked,
    hops: message.hops.map(({ group, kind }) => ({ group, kind: kind as FallbackKind })),
    attempts: message.attempts.map((attempt) => ({
      decision: attempt.decisionId,
      group: attempt.group,
      deployment: attempt.deployment,
      error: errorClassFromWire(attempt.error) ?? "rejected",
      status: attempt.status === 0 ? undefined : attempt.status,
      retryAfterMs: attempt.retryAfterMs === undefined ? undefined : Number(attempt.retryAfterMs),
      startedAt: Number(attempt.startedAtMs),
      endedAt: Number(attempt.endedAtMs),
    })),
    lastResorts: message.lastResorts,
    ...(message.hedged ? { hedged: true } : {}),
  };
}

function attemptToWire(attempt: FailedAttempt) {
  return {
    decisionId: attempt.decision,
    group: attempt.group,
    deployment: attempt.deployment,
    error: errorClassToWire(attempt.error),
    status: attempt.status ?? 0,
    startedAtMs: BigInt(attempt.startedAt),
    endedAtMs: BigInt(attempt.endedAt),
    ...(attempt.retryAfterMs === undefined ? {} : { retryAfterMs: BigInt(Math.round(attempt.retryAfterMs)) }),
  };
}
