import { create } from "@bufbuild/protobuf";
import type { Bus } from "@switchyard/bus";
import { announceRouter, BUCKETS, HealthReplica, RouterBoard, requireKey } from "@switchyard/cluster";
import type { ConfigFeed, WritableConfigFeed } from "@switchyard/cluster";
import type { SecretSource } from "@switchyard/config";
import type { ConfigService } from "@switchyard/proto/admin/v1/config_service";
import {
  ExplainResponseSchema,
  GroupSummarySchema,
  ListGroupsResponseSchema,
} from "@switchyard/proto/routing/v1/routing_service";
import type { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import type { ServiceImpl } from "@switchyard/rpc";
import type { Logger, Metrics, Readiness } from "@switchyard/telemetry";
import { ConfigHistory } from "./config-history.ts";
import { createConfigRpc } from "./config-rpc.ts";
import { Decider } from "./decider.ts";
import { DecisionRecorder } from "./decision-recorder.ts";
import type { DecisionLog } from "./decision-recorder.ts";
import { LoadBook } from "./load-book.ts";
import { ProbeDemand } from "./probe-demand.ts";
import { ReadinessBoard } from "./readiness-board.ts";
import { Seal } from "./seal.ts";

export interface RouterDeps {
  readonly bus: Bus;
  readonly config: ConfigFeed;
  /** The same feed, where the config can be replaced through the admin API. */
  readonly writable?: WritableConfigFeed;
  readonly secrets: SecretSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => number;
  /** An unsigned 32-bit integer, a new one each time. */
  readonly seed: () => number;
  /** Unique in the cluster; a token of NATS subjects. */
  readonly name: string;
  /** Where decisions are logged with their inputs; absent where they are not. */
  readonly decisionLog?: DecisionLog | undefined;
}

export interface Router {
  readonly routing: ServiceImpl<typeof RoutingService>;
  readonly admin: ServiceImpl<typeof ConfigService>;
  readiness(): Readiness;
  close(): void;
}

/** Decides from memory: config, keys, a replica of the benches, load. No request waits on anything else (invariant 2). */
export function createRouter(deps: RouterDeps): Router {
  const configs = new ConfigHistory(deps.secrets, deps.logger);
  const health = new HealthReplica({
    bus: deps.bus,
    name: deps.name,
    now: deps.now,
    role: "follows",
  });
  const board = new ReadinessBoard(deps.bus, deps.now);
  const routers = new RouterBoard(deps.bus, deps.now);
  const load = new LoadBook({
    bus: deps.bus,
    now: deps.now,
    notReady: () => board.notReady,
    routers,
  });
  const { now, seed } = deps;
  const probes = new ProbeDemand({ configs, health, load, now, name: deps.name });
  const leave = announceRouter(deps.bus, deps.name, () => probes.claims());
  const seal = new Seal();
  const stopSharing = seal.share(deps.bus.keyValue(BUCKETS.config));
  const stopConfig = deps.config.subscribe((applied) => {
    const config = configs.use(applied);
    health.useConfig(config);
    load.useConfig(config);
    deps.metrics.configRevision.set(applied.revision);
  });
  const { decisionLog } = deps;
  const recorder = decisionLog && new DecisionRecorder(deps.bus, decisionLog);
  const decider = new Decider({ configs, health, load, probes, seal, now, seed, recorder, name: deps.name });
  return {
    routing: {
      decide: (request, call) => decider.decide(request, call),
      explain: (request, call) =>
        create(ExplainResponseSchema, { decision: decider.explain(request.facts, request.seed, call) }),
      listGroups: (_request, call) => {
        const key = requireKey(configs.current, call);
        const groups = key.groups.map((name) => create(GroupSummarySchema, { name, project: key.project }));
        return create(ListGroupsResponseSchema, { groups });
      },
    },
    admin: createConfigRpc({
      feed: deps.config,
      writable: deps.writable,
      current: () => configs.current,
      logger: deps.logger,
    }),
    readiness: () => ({
      ready: configs.current !== undefined,
      detail: {
        bus: deps.bus.state,
        revision: configs.current?.revision ?? 0,
        config: configs.current?.hash ?? "",
      },
    }),
    close: () => {
      recorder?.close();
      stopConfig();
      stopSharing();
      leave();
      load.close();
      routers.close();
      board.close();
      health.close();
    },
  };
}
