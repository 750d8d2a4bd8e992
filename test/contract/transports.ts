import type { DescService } from "@bufbuild/protobuf";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { ConfigService } from "@switchyard/proto/admin/v1/config_service";
import { Health } from "@switchyard/proto/grpc/health/v1/health";
import type { ServerReflection } from "@switchyard/proto/grpc/reflection/v1/reflection";
import type { ServerReflection as ServerReflectionAlpha } from "@switchyard/proto/grpc/reflection/v1alpha/reflection";
import { HealthStateService } from "@switchyard/proto/health/v1/health_state_service";
import { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { createLeanClient, createStockClient } from "@switchyard/rpc";
import type { ServiceImpl, StockClientOptions } from "@switchyard/rpc";
import type { Services, Stage, StageOptions } from "./stage.ts";

/** Reflection, under either of its names. */
export type Reflection = typeof ServerReflection | typeof ServerReflectionAlpha;

/** Names the services that a server offers, by its reflection. */
export type Reflect = (service: Reflection) => Promise<string[]>;

/** The product as its callers reach it. */
export interface Clients extends Services {
  /** Absent in process: they are the server's own. */
  readonly platform: ServiceImpl<typeof Health> | undefined;
  /** Absent where a stream of requests cannot be sent. */
  readonly reflect: Reflect | undefined;
}

export interface Transport {
  readonly name: string;
  readonly stage?: StageOptions;
  /** Whether there is a wire: schemas are checked and deadlines enforced there. */
  readonly remote: boolean;
  /** Whether its client can send a stream of requests, as reflection needs. */
  readonly streamsRequests: boolean;
  connect(stage: Stage, owner: DisposableStack): Clients;
}

type Make = <S extends DescService>(service: S) => ServiceImpl<S> & Disposable;

function clientsOf(owner: DisposableStack, make: Make, reflect?: Reflect): Clients {
  return {
    routing: owner.use(make(RoutingService)),
    inference: owner.use(make(InferenceService)),
    health: owner.use(make(HealthStateService)),
    admin: owner.use(make(ConfigService)),
    platform: owner.use(make(Health)),
    reflect,
  };
}

const lean = (resends: boolean): Transport["connect"] => {
  return ({ server }, owner) =>
    clientsOf(owner, (service) => {
      const unary = service.methods.filter(({ methodKind }) => methodKind === "unary");
      const resendable = resends ? unary.map(({ localName }) => localName) : [];
      return createLeanClient(service, { urls: [server.url], resendable: resendable });
    });
};

const stock = (options: StockClientOptions): Transport["connect"] => {
  return ({ server }, owner) =>
    clientsOf(
      owner,
      (service) => createStockClient(service, server.url, options),
      options.httpVersion === "2" ? reflection(server.url, options, owner) : undefined,
    );
};

function reflection(url: string, { protocol }: StockClientOptions, owner: DisposableStack): Reflect {
  const sessionManager = new Http2SessionManager(url);
  owner.defer(() => sessionManager.abort());
  const base = { baseUrl: url, sessionManager };
  const transport =
    protocol === "grpc"
      ? createGrpcTransport(base)
      : createConnectTransport({ ...base, httpVersion: "2" as const });
  return async (service) => {
    const client = createClient(service as typeof ServerReflection, transport);
    const names: string[] = [];
    async function* ask() {
      yield { messageRequest: { case: "listServices" as const, value: "" } };
    }
    for await (const { messageResponse } of client.serverReflectionInfo(ask())) {
      if (messageResponse.case !== "listServicesResponse") throw new Error("another answer was expected");
      names.push(...messageResponse.value.service.map(({ name }) => name));
    }
    return names;
  };
}

/** Every way to the services. */
export const TRANSPORTS: readonly Transport[] = [
  {
    name: "in process",
    remote: false,
    streamsRequests: false,
    connect: ({ services }) => ({ ...services, platform: undefined, reflect: undefined }),
  },
  { name: "lean client", remote: true, streamsRequests: false, connect: lean(false) },
  { name: "lean client, resendable", remote: true, streamsRequests: false, connect: lean(true) },
  {
    name: "lean client, services apart",
    remote: true,
    streamsRequests: false,
    stage: { apart: true },
    connect: lean(false),
  },
  { name: "Connect over HTTP/1.1", remote: true, streamsRequests: false, connect: stock({}) },
  { name: "Connect over HTTP/2", remote: true, streamsRequests: true, connect: stock({ httpVersion: "2" }) },
  {
    name: "gRPC",
    remote: true,
    streamsRequests: true,
    connect: stock({ protocol: "grpc", httpVersion: "2" }),
  },
  { name: "gRPC-Web", remote: true, streamsRequests: false, connect: stock({ protocol: "grpc-web" }) },
];
