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
  /** With the failed attempt appended. */
  readonly history: History;
  /** The attempt that failed, and when it was decided. */
  readonly failed: FailedAttempt | undefined;
  readonly decidedAt: number;
  readonly lastResort: boolean;
  /** B4: whether it probes a benched deployment. */
  readonly probe: boolean;
}

/** Seals what the next decision for this request needs. */
export function sealContinuation(
  seal: Seal,
  known: Pick<Resumed, "requestId" | "keyHash" | "revision" | "seed" | "arrivedAt" | "history">,
  pending: { readonly decisionId: string; readonly decision: AttemptDecision; readonly decidedAt: number },
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
  });
  return seal.close(toBinary(ContinuationSchema, message));
}

/** Opens a continuation and appends how its attempt failed; undefined when it is not one of ours. */
export function openContinuation(
  seal: Seal,
  sealed: Uint8Array,
  failed: WireFailed | undefined,
  now: number,
): Resumed | undefined {
  const payload = seal.open(sealed);
  if (payload === undefined) return undefined;
  const message = fromBinary(ContinuationSchema, payload);
  const { pending } = message;
  const attempt = pending === undefined || failed === undefined ? undefined : toAttempt(pending, failed, now);
  const history = historyOf(message);
  return {
    requestId: message.requestId,
    keyHash: message.keyHash,
    revision: Number(message.configRevision),
    seed: message.seed,
    arrivedAt: Number(message.arrivedAtMs),
    history: attempt === undefined ? history : appendAttempt(history, attempt),
    failed: attempt,
    decidedAt: Number(pending?.decidedAtMs ?? 0n),
    lastResort: pending?.lastResort ?? false,
    probe: pending?.probe ?? false,
  };
}

function toAttempt(
  pending: NonNullable<Continuation["pending"]>,
  failed: WireFailed,
  now: number,
): FailedAttempt {
  return {
    decision: pending.decisionId,
    group: pending.group,
    deployment: pending.deployment,
    error: errorClassFromWire(failed.error) ?? "rejected",
    status: failed.status === 0 ? undefined : failed.status,
    retryAfterMs: failed.retryAfterMs === undefined ? undefined : Number(failed.retryAfterMs),
    startedAt: Math.max(Number(pending.decidedAtMs), now - Number(failed.durationMs)),
    endedAt: now,
  };
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
