import { create } from "@bufbuild/protobuf";
import { durationMs } from "@bufbuild/protobuf/wkt";
import { benchToWire, outcomeFromWire, requireAdmin, requireKey } from "@switchyard/cluster";
import type { HealthReplica } from "@switchyard/cluster";
import { activeBenches, deploymentScope, groupKey, modelScope, providerScope } from "@switchyard/core";
import type { Bench, CallerKey, ConfigSnapshot } from "@switchyard/core";
import {
  BenchResponseSchema,
  ListBenchesResponseSchema,
  ReportOutcomesResponseSchema,
  UnbenchResponseSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import type { HealthStateService, Scope } from "@switchyard/proto/health/v1/health_state_service";
import { failure } from "@switchyard/rpc";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Logger } from "@switchyard/telemetry";
import type { Watchers } from "./watchers.ts";

export interface HealthRpcDeps {
  readonly replica: HealthReplica;
  readonly watchers: Watchers;
  readonly config: () => ConfigSnapshot | undefined;
  readonly now: () => number;
  readonly logger: Logger;
}

/** `HealthStateService` over a replica. */
export function createHealthRpc(deps: HealthRpcDeps): ServiceImpl<typeof HealthStateService> {
  const { replica, now } = deps;
  return {
    listBenches: (_request, call) => {
      requireKey(deps.config(), call);
      const at = now();
      const benches = activeBenches(replica.snapshot, at).map((bench) => benchToWire(bench, at));
      return create(ListBenchesResponseSchema, { benches });
    },
    watchBenches: (_request, sink, call) => {
      requireKey(deps.config(), call);
      deps.watchers.add(sink, call, () => replica.snapshot);
    },
    bench: (request, call) => {
      const by = requireAdmin(deps.config(), call);
      const at = now();
      const bench: Bench = {
        ...targetOf(request.scope),
        since: at,
        until: at + (request.duration === undefined ? 0 : durationMs(request.duration)),
        reason: "manual",
        group: undefined,
        by,
      };
      replica.benchByHand(bench);
      deps.logger.info("benched by hand", { scope: bench.key, by });
      return create(BenchResponseSchema, { bench: benchToWire(bench, at) });
    },
    unbench: (request, call) => {
      const by = requireAdmin(deps.config(), call);
      const { key } = targetOf(request.scope);
      const wasBenched = replica.unbench(key);
      deps.logger.info("unbenched by hand", { scope: key, by });
      return create(UnbenchResponseSchema, { wasBenched });
    },
    reportOutcomes: (request, call) => {
      const key = requireKey(deps.config(), call);
      const granted = request.outcomes.filter((outcome) => mayCall(key, outcome.group));
      replica.observe(granted.map(outcomeFromWire));
      return create(ReportOutcomesResponseSchema, { accepted: granted.length });
    },
  };
}

function targetOf(scope: Scope | undefined): Pick<Bench, "key" | "scope"> {
  const target = scope?.target;
  switch (target?.case) {
    case "deployment": {
      const { project, group, deployment } = target.value;
      const key = deploymentScope(groupKey(project === "" ? "default" : project, group), deployment);
      return { key, scope: "deployment" };
    }
    case "model":
      return { key: modelScope(target.value.provider.toLowerCase(), target.value.model), scope: "model" };
    case "provider":
      return { key: providerScope(target.value.toLowerCase()), scope: "provider" };
    default:
      throw failure("invalid_request", "scope: name a deployment, a model or a provider", { status: 400 });
  }
}

/** Whoever may not call a group has nothing to say about its deployments. */
function mayCall(key: CallerKey, group: string): boolean {
  const prefix = `${key.project}/`;
  return group.startsWith(prefix) && key.grants.has(group.slice(prefix.length));
}
