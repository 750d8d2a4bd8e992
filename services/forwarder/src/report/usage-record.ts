import { create } from "@bufbuild/protobuf";
import { UsageEventSchema } from "@switchyard/proto/events/v1/events";
import type { UsageEvent } from "@switchyard/proto/events/v1/events";
import type { Attempt as AttemptOrder, DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import type { Metrics } from "@switchyard/telemetry";
import type { ServedFacts } from "../attempt/body.ts";
import { usageToWire } from "./cost.ts";

/** What an answer used, as ledgers hear of it; undefined where its provider told nothing. */
export function usageEvent(
  requestId: string,
  order: AttemptOrder,
  decided: DecideResponse | undefined,
  facts: ServedFacts,
  costUsd: number | undefined,
): UsageEvent | undefined {
  if (facts.usage === undefined) return undefined;
  return create(UsageEventSchema, {
    requestId,
    group: order.groupKey,
    deployment: order.deployment,
    key: decided?.keyName ?? "",
    team: decided?.team ?? "",
    model: facts.model ?? "",
    usage: usageToWire(facts.usage),
    ...(costUsd === undefined ? {} : { costUsd }),
  });
}

/** Counts it; the labels are the config's names. */
export function countUsage(
  metrics: Metrics,
  group: string,
  { deployment, key, usage, costUsd }: UsageEvent,
): void {
  const kinds = {
    input: usage?.input,
    output: usage?.output,
    cached: usage?.cached,
    cache_written: usage?.cacheWritten,
    audio_input: usage?.audioInput,
    reasoning: usage?.reasoning,
    audio_output: usage?.audioOutput,
  };
  for (const [kind, tokens] of Object.entries(kinds)) {
    if (tokens !== undefined && tokens > 0n) metrics.tokens(group, deployment, key, kind).inc(Number(tokens));
  }
  if (costUsd !== undefined && Number.isFinite(costUsd)) metrics.cost(group, deployment, key).inc(costUsd);
}
