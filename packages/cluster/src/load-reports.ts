import { create } from "@bufbuild/protobuf";
import type { LoadReport } from "@switchyard/core";
import { LoadReportSchema } from "@switchyard/proto/events/v1/events";
import type { LoadReport as WireReport } from "@switchyard/proto/events/v1/events";

export function loadReportToWire({ reporter, sequence, deployments }: LoadReport): WireReport {
  return create(LoadReportSchema, {
    reporter,
    sequence: BigInt(sequence),
    deployments: deployments.map((one) => ({
      ...one,
      requests: BigInt(one.requests),
      tokens: BigInt(Math.round(one.tokens)),
      streamedTokens: BigInt(Math.round(one.streamedTokens)),
      streamTimes: Object.fromEntries(one.streamTimes ?? []),
      wholeTimes: Object.fromEntries(one.wholeTimes ?? []),
    })),
  });
}

export function loadReportFromWire({ reporter, sequence, deployments }: WireReport): LoadReport {
  return {
    reporter,
    sequence: Number(sequence),
    deployments: deployments.map((one) => ({
      load: one.load,
      inFlight: one.inFlight,
      minute: one.minute,
      requests: Number(one.requests),
      tokens: Number(one.tokens),
      measured: one.measured,
      firstTokenMs: one.firstTokenMs,
      streamedTokens: Number(one.streamedTokens),
      streamedMs: one.streamedMs,
      streamTimes: timesFromWire(one.streamTimes),
      wholeTimes: timesFromWire(one.wholeTimes),
    })),
  };
}

function timesFromWire(times: Readonly<Record<number, number>>): ReadonlyMap<number, number> | undefined {
  const entries = Object.entries(times);
  return entries.length === 0
    ? undefined
    : new Map(entries.map(([bucket, count]) => [Number(bucket), count]));
}
