import { fromBinary } from "@bufbuild/protobuf";
import type { Bus } from "@switchyard/bus";
import { HealthReplica, outcomeFromWire, RouterBoard, SUBJECTS } from "@switchyard/cluster";
import type { ConfigFeed } from "@switchyard/cluster";
import { compileSnapshot } from "@switchyard/config";
import type { SecretSource } from "@switchyard/config";
import type { ConfigSnapshot, Transition } from "@switchyard/core";
import { OutcomeBatchSchema } from "@switchyard/proto/events/v1/events";
import type { HealthStateService } from "@switchyard/proto/health/v1/health_state_service";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Logger, Metrics, Readiness } from "@switchyard/telemetry";
import { createHealthRpc } from "./rpc.ts";
import { Watchers } from "./watchers.ts";

export interface HealthDeps {
  readonly bus: Bus;
  readonly config: ConfigFeed;
  readonly secrets: SecretSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => number;
  /** Unique in the cluster; a token of NATS subjects. */
  readonly name: string;
}

export interface Health {
  readonly service: ServiceImpl<typeof HealthStateService>;
  readiness(): Readiness;
  close(): void;
}

/**
 * Reduces what all forwarders report to benches, tells everybody and keeps them. Any number of health services may
 * run: they reduce the same outcomes and join what they know.
 */
export function createHealth(deps: HealthDeps): Health {
  const watchers = new Watchers(deps.now);
  let config: ConfigSnapshot | undefined;
  const routers = new RouterBoard(deps.bus, deps.now);
  const replica = new HealthReplica({
    bus: deps.bus,
    name: deps.name,
    now: deps.now,
    role: "keeps",
    routers,
    onTransitions: (transitions) => logTransitions(deps.logger, transitions),
    onChange: (snapshot, keys) => {
      watchers.tell(snapshot, keys);
      countBenches(deps.metrics, snapshot.benches.values());
    },
  });
  const outcomes = deps.bus.subscribe(SUBJECTS.outcomes, (payload) => {
    replica.observe(fromBinary(OutcomeBatchSchema, payload).outcomes.map(outcomeFromWire));
  });
  const stop = deps.config.subscribe((applied) => {
    config = compileSnapshot(applied.config, { revision: applied.revision, secrets: deps.secrets });
    replica.useConfig(config);
  });
  return {
    service: createHealthRpc({ replica, watchers, config: () => config, now: deps.now, logger: deps.logger }),
    readiness: () => ({
      ready: config !== undefined,
      detail: { bus: deps.bus.state, revision: config?.revision ?? 0 },
    }),
    close: () => {
      stop();
      outcomes.unsubscribe();
      watchers.close();
      routers.close();
      replica.close();
    },
  };
}

function logTransitions(logger: Logger, transitions: readonly Transition[]): void {
  for (const { kind, bench, by } of transitions) {
    logger.info(kind === "ended" ? "bench ended" : "benched", {
      kind,
      scope: bench.key,
      reason: bench.reason,
      until: new Date(bench.until).toISOString(),
      by,
    });
  }
}

function countBenches(
  metrics: Metrics,
  entries: Iterable<{
    readonly policy: { scope: string } | undefined;
    readonly manual: { scope: string } | undefined;
  }>,
): void {
  const counts = { deployment: 0, model: 0, provider: 0 };
  for (const { policy, manual } of entries) {
    const scope = (policy ?? manual)?.scope;
    if (scope !== undefined) counts[scope as keyof typeof counts] += 1;
  }
  for (const [scope, count] of Object.entries(counts)) metrics.benched(scope).set(count);
}
