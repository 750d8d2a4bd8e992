import { createMemoryBus } from "@switchyard/bus";
import { decodeConfig } from "@switchyard/config";
import type { SecretSource } from "@switchyard/config";
import { ConfigService } from "@switchyard/proto/admin/v1/config_service";
import type { Config } from "@switchyard/proto/config/v1/config";
import { HealthStateService } from "@switchyard/proto/health/v1/health_state_service";
import { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import type { DecideRequest, DecideResponse } from "@switchyard/proto/routing/v1/routing_service";
import { createLeanClient, createRpcServer, registration } from "@switchyard/rpc";
import type { Registration, RpcServer, ServiceImpl } from "@switchyard/rpc";
import { asAsked, createScriptedProvider } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { BUCKETS, createStoreFeed } from "@switchyard/cluster";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { createUpstream } from "@switchyard/upstream";
import { createForwarder } from "@switchyard/forwarder";
import { createHealth } from "@switchyard/health";
import { createRouter } from "@switchyard/router";

/** The product's services as plain objects. */
export interface Services {
  readonly routing: ServiceImpl<typeof RoutingService>;
  readonly inference: ServiceImpl<typeof InferenceService>;
  readonly health: ServiceImpl<typeof HealthStateService>;
  readonly admin: ServiceImpl<typeof ConfigService>;
}

/** One decision as the router saw it. */
export interface SeenDecision {
  readonly request: DecideRequest;
  /** Absent while it is not made, and when it failed. */
  readonly response: DecideResponse | undefined;
  /** The caller's deadline, epoch ms. */
  readonly deadline: number | undefined;
}

/** The real services over the embedded bus, and the providers that they call. */
export interface Stage {
  readonly services: Services;
  readonly server: RpcServer;
  /** First and second choice of the groups. */
  readonly a: ScriptedProvider;
  readonly b: ScriptedProvider;
  /** Decisions since {@link reset}, whoever asked. */
  readonly decisions: readonly SeenDecision[];
  readonly config: Config;
  reset(): void;
  close(): Promise<void>;
}

/** Secrets of the keys in {@link configText}. */
export const KEYS = { caller: "key-caller", narrow: "key-narrow", boss: "key-boss" };

const SECRETS: SecretSource = {
  env: (name) => name.toLowerCase().replaceAll("_", "-"),
  file: () => undefined,
};

/** `chat` fails over from a to b, `solo` has only a, and one failure benches in `fragile`. */
function configText(a: string, b: string): string {
  const policy = "zero_weight: standby, retry: { max_retries: 0 }, request_timeout: 60s";
  const both = `{ provider: a, model: m-a, weight: 1, price: { input: 1, output: 2 } }, { provider: b, model: m-b, weight: 0 }`;
  return `
providers:
  - { name: a, family: openai_compatible, base_url: "${a}/v1", credential: { env: UP_A } }
  - { name: b, family: openai_compatible, base_url: "${b}/v1", credential: { env: UP_B } }
groups:
  - name: chat
    deployments: [${both}]
    policy: { ${policy}, bench: { failures: 0 } }
  - name: solo
    deployments: [{ provider: a, model: m-a }]
    policy: { ${policy}, bench: { failures: 0 } }
  - name: fragile
    deployments: [${both}]
    policy: { ${policy}, bench: { failures: 1, window: 60s, cooloff: 60s } }
keys:
  - { name: caller, secret: { env: KEY_CALLER }, groups: [chat, solo, fragile], team: red }
  - { name: narrow, secret: { env: KEY_NARROW }, groups: [chat] }
  - { name: boss, secret: { env: KEY_BOSS }, groups: [chat], roles: [caller, account_admin] }
teams:
  - { name: red }
native_endpoints:
  - { path: /v1/systemone, provider_families: [openai_compatible] }
  - { path: /v1/elsewhere, provider_families: [gemini, vertex] }
`;
}

function read(text: string): Config {
  const { config, faults } = decodeConfig(text);
  if (config === undefined || faults.length > 0) throw new Error(JSON.stringify(faults));
  return config;
}

export interface StageOptions {
  /** Whether the forwarder reaches the router through its lean client, as between processes. */
  readonly apart?: boolean;
}

/** What a process of the product registers for these services. */
export function registrationsOf({ routing, inference, health, admin }: Services): Registration[] {
  return [
    registration(RoutingService, routing),
    registration(InferenceService, inference),
    registration(HealthStateService, health),
    registration(ConfigService, admin),
  ];
}

export async function createStage({ apart = false }: StageOptions = {}): Promise<Stage> {
  await using owner = new AsyncDisposableStack();
  const a = owner.use(await createScriptedProvider());
  const b = owner.use(await createScriptedProvider());
  const config = read(configText(a.url, b.url));
  const bus = createMemoryBus();
  owner.defer(() => bus.close());
  const writable = createStoreFeed({
    store: bus.keyValue(BUCKETS.config),
    seed: undefined,
    now: Date.now,
    report: () => {},
    faultsOf: () => [],
    writes: true,
  });
  owner.defer(() => writable.close());
  await writable.apply(config, "stage", undefined);

  const parts = {
    bus,
    config: writable,
    secrets: SECRETS,
    logger: SILENT,
    metrics: new Metrics(),
    now: Date.now,
  };
  const router = createRouter({ ...parts, writable, name: "router", seed: () => 7 });
  owner.defer(() => router.close());
  const health = createHealth({ ...parts, name: "health" });
  owner.defer(() => health.close());
  let decisions: SeenDecision[] = [];
  const routing: Services["routing"] = {
    ...router.routing,
    decide: (request, call) => {
      const at = decisions.push({ request, response: undefined, deadline: call.deadline }) - 1;
      const response = router.routing.decide(request, call) as DecideResponse;
      decisions[at] = { request, response, deadline: call.deadline };
      return response;
    },
  };
  const upstream = createUpstream();
  owner.defer(() => upstream.close());
  const reached = apart ? await throughWire(routing, owner) : routing;
  const forwarder = createForwarder({ ...parts, name: "forwarder", router: reached, upstream });
  owner.defer(() => forwarder.close());

  const services: Services = {
    routing,
    inference: forwarder.inference,
    health: health.service,
    admin: router.admin,
  };
  const server = await createRpcServer({ services: registrationsOf(services), host: "127.0.0.1", port: 0 });
  owner.defer(() => server.close(0));
  const kept = owner.move();
  return {
    services,
    server,
    a,
    b,
    config,
    get decisions() {
      return decisions;
    },
    reset: () => {
      decisions = [];
      for (const [name, provider] of Object.entries({ a, b })) {
        provider.answer(asAsked(name));
        provider.clearCalls();
      }
    },
    close: () => kept.disposeAsync(),
  };
}

async function throughWire(
  routing: Services["routing"],
  owner: AsyncDisposableStack,
): Promise<Services["routing"]> {
  const services = [registration(RoutingService, routing)];
  const server = await createRpcServer({ services, host: "127.0.0.1", port: 0 });
  owner.defer(() => server.close(0));
  return owner.use(
    createLeanClient(RoutingService, {
      urls: [server.url],
      resendable: ["decide", "explain", "listGroups"],
    }),
  );
}
