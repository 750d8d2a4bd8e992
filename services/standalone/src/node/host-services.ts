import type { Bus } from "@switchyard/bus";
import type { SecretSource } from "@switchyard/config";
import { createForwarder } from "@switchyard/forwarder";
import { createHealth } from "@switchyard/health";
import { ConfigService } from "@switchyard/proto/admin/v1/config_service";
import type { Runtime } from "@switchyard/proto/config/v1/config";
import { HealthStateService } from "@switchyard/proto/health/v1/health_state_service";
import { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { createRouter } from "@switchyard/router";
import { createLeanClient, registration } from "@switchyard/rpc";
import type { ChannelOptions, Registration, ServiceImpl } from "@switchyard/rpc";
import type { Logger, Metrics, Readiness, Tracer } from "@switchyard/telemetry";
import { createUpstream } from "@switchyard/upstream";
import { openDecisionLog } from "./decision-log-file.ts";
import { randomSeed } from "./random-seed.ts";
import type { ServiceName } from "../args/command.ts";
import { CommandError } from "../exit.ts";
import type { OpenFeed } from "./open-feed.ts";

export interface HostOptions {
  readonly services: ReadonlySet<ServiceName>;
  readonly runtime: Runtime | undefined;
  readonly bus: Bus;
  readonly config: OpenFeed;
  readonly secrets: SecretSource;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Undefined where tracing is off. */
  readonly tracer: Tracer | undefined;
  /** Unique in the cluster; a token of NATS subjects. */
  readonly name: string;
}

/** The services that a process hosts besides the facade, joined by plain calls. */
export interface Hosted {
  /** What `listen.rpc` serves. */
  readonly registrations: readonly Registration[];
  readonly readiness: readonly (() => Readiness)[];
  /** Ends streams that have no end of their own, so that they do not hold up a drain. */
  endWatches(): void;
  readonly inference: ServiceImpl<typeof InferenceService> | undefined;
}

/** Makes them; those that are called but live elsewhere are reached at `runtime.<service>.urls`. */
export function hostServices(options: HostOptions, owner: AsyncDisposableStack): Hosted {
  const { services, bus, secrets, logger, metrics, name } = options;
  const common = { bus, secrets, metrics, name, config: options.config.feed, now: Date.now };
  const registrations: Registration[] = [];
  const readiness: (() => Readiness)[] = [];
  let routing: ServiceImpl<typeof RoutingService> | undefined;
  let inference: ServiceImpl<typeof InferenceService> | undefined;
  let endWatches = (): void => {};

  if (services.has("router")) {
    const decisionLog = openDecisionLog(process.env, logger);
    owner.defer(() => decisionLog?.close());
    const router = createRouter({
      ...common,
      decisionLog,
      ...(options.config.writable === undefined ? {} : { writable: options.config.writable }),
      logger: logger.child({ service: "router" }),
      seed: randomSeed,
    });
    owner.defer(() => router.close());
    registrations.push(
      registration(RoutingService, router.routing),
      registration(ConfigService, router.admin),
    );
    readiness.push(() => router.readiness());
    routing = router.routing;
  }
  if (services.has("health")) {
    const health = createHealth({ ...common, logger: logger.child({ service: "health" }) });
    owner.defer(() => health.close());
    endWatches = () => health.close();
    registrations.push(registration(HealthStateService, health.service));
    readiness.push(() => health.readiness());
  }
  if (services.has("forwarder")) {
    const upstream = createUpstream();
    owner.defer(() => upstream.close());
    const forwarder = createForwarder({
      ...common,
      upstream,
      tracer: options.tracer,
      logger: logger.child({ service: "forwarder" }),
      router: routing ?? routingClient(options, owner),
    });
    owner.defer(() => forwarder.close());
    registrations.push(registration(InferenceService, forwarder.inference));
    readiness.push(() => forwarder.readiness());
    inference = forwarder.inference;
  } else if (services.has("facade")) {
    inference = inferenceClient(options, owner);
  }
  return { registrations, readiness, inference, endWatches };
}

function routingClient(
  { runtime }: HostOptions,
  owner: AsyncDisposableStack,
): ServiceImpl<typeof RoutingService> {
  return owner.use(
    connect("router", "forwarder", runtime, (channel) =>
      createLeanClient(RoutingService, { ...channel, resendable: ["decide", "explain", "listGroups"] }),
    ),
  );
}

function inferenceClient(
  { runtime }: HostOptions,
  owner: AsyncDisposableStack,
): ServiceImpl<typeof InferenceService> {
  return owner.use(
    connect("forwarder", "facade", runtime, (channel) => createLeanClient(InferenceService, channel)),
  );
}

function connect<C>(
  peer: "router" | "forwarder",
  caller: ServiceName,
  runtime: Runtime | undefined,
  make: (channel: ChannelOptions) => C,
): C {
  const urls = runtime?.[peer]?.urls ?? [];
  const path = `runtime.${peer}.urls`;
  if (urls.length === 0) {
    throw new CommandError(
      `${path}: the ${caller} needs a ${peer}; name its urls, or host it here (--services)`,
    );
  }
  try {
    return make({ urls });
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    throw new CommandError(`${path}: ${error.message}`, { cause: error });
  }
}
