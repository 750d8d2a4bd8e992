import type { Attempt as AttemptOrder, DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import type { Logger, Metrics } from "@switchyard/telemetry";
import type { AttemptEntry, AttemptLog } from "./attempt-log.ts";
import type { AffinityReasons } from "../request/affinity-reasons.ts";
import type { RunRequest } from "../request/run-request.ts";

export interface RecordDeps {
  readonly metrics: Metrics;
  readonly logger: Logger;
  readonly now: () => number;
  readonly reasons: AffinityReasons;
}

/** How a request went, in what may be kept of it (invariant 9). */
export interface RequestRecord {
  readonly request: RunRequest;
  readonly decided: DecideResponse | undefined;
  /** The last attempt. */
  readonly order: AttemptOrder | undefined;
  /** Attempts that were begun. */
  readonly attempts: number;
  /** Whether two ran side by side. */
  readonly hedged: boolean;
  readonly log: AttemptLog;
  readonly status: number;
  /** Epoch ms; 0 when nothing was served. */
  readonly firstByteAt: number;
  /** A code of contracts section 3, or the class of what broke. */
  readonly error: string | undefined;
  /** In our own words: a provider's may quote the prompt. */
  readonly reason: string | undefined;
  /** The code of a refusal; `all_deployments_failed` by E7. */
  readonly refusal: string | undefined;
  /** The attempt that served. */
  readonly served: AttemptEntry | undefined;
  readonly trace: { end(record: RequestRecord): void } | undefined;
}

/** Counts a request, writes its one log line and ends its trace (H4). */
export function recordRequest(deps: RecordDeps, record: RequestRecord): void {
  const { request, decided, order, log, firstByteAt } = record;
  const { endpoint, stream } = request.facts;
  const rejected = deps.reasons.why(request.affinity, order?.groupKey, decided?.keyName);
  const ms = Math.round(deps.now() - request.arrivedAt);
  deps.metrics.duration(endpoint).observe(ms / 1000);
  if (firstByteAt > 0) deps.metrics.firstByte(endpoint).observe((firstByteAt - request.arrivedAt) / 1000);
  deps.metrics.request(endpoint, order?.group ?? "", String(record.status)).inc();
  deps.logger.info("request", {
    request: request.id,
    endpoint,
    stream,
    key: decided?.keyName,
    team: decided?.team,
    group: order?.group,
    deployment: order?.deployment,
    next: order?.next,
    strategy: order?.strategy,
    affinity: order?.affinity,
    fallback: order?.fallbackKind,
    attempts: record.attempts,
    failures: log.entries.map((entry) => `${entry.deployment}=${entry.error ?? "ok"}`),
    ...(record.hedged ? { hedged: true } : {}),
    status: record.status,
    ms,
    revision: Number(decided?.configRevision ?? 0n),
    error: record.error,
    reason: record.reason,
    ...(rejected.length === 0 ? {} : { affinity_rejected: rejected }),
  });
  record.trace?.end(record);
}
