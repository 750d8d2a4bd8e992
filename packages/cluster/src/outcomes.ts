import { create } from "@bufbuild/protobuf";
import type { MessageInitShape } from "@bufbuild/protobuf";
import type { Outcome } from "@switchyard/core";
import { OutcomeSchema } from "@switchyard/proto/events/v1/events";
import type { Outcome as WireOutcome } from "@switchyard/proto/events/v1/events";
import { errorClassFromWire, errorClassToWire } from "./error-classes.ts";

export function outcomeToWire(outcome: Outcome): WireOutcome {
  const init: MessageInitShape<typeof OutcomeSchema> = {
    decisionId: outcome.decision,
    group: outcome.group,
    deployment: outcome.deployment,
    error: errorClassToWire(outcome.error),
    status: outcome.status ?? 0,
    decidedAtMs: BigInt(Math.round(outcome.decidedAt)),
    endedAtMs: BigInt(Math.round(outcome.at)),
    probe: outcome.probe,
    ownKey: outcome.ownKey,
  };
  if (outcome.retryAfterMs !== undefined) init.retryAfterMs = BigInt(Math.round(outcome.retryAfterMs));
  return create(OutcomeSchema, init);
}

export function outcomeFromWire(wire: WireOutcome): Outcome {
  return {
    decision: wire.decisionId,
    group: wire.group,
    deployment: wire.deployment,
    error: errorClassFromWire(wire.error),
    status: wire.status === 0 ? undefined : wire.status,
    retryAfterMs: wire.retryAfterMs === undefined ? undefined : Number(wire.retryAfterMs),
    decidedAt: Number(wire.decidedAtMs),
    at: Number(wire.endedAtMs),
    probe: wire.probe,
    ownKey: wire.ownKey,
  };
}
