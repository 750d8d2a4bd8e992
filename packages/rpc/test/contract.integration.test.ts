import { createServer } from "node:http";
import { connectNodeAdapter } from "@connectrpc/connect-node";
import { createValidateInterceptor } from "@connectrpc/validate";
import { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import {
  createLeanClient,
  createRpcServer,
  createStockClient,
  registration,
  type StockClientOptions,
  toStockRoutes,
} from "../src/index.ts";
import { contract, type Fixture, type Implementation } from "./contract.ts";

const registrations = ({ routing, inference }: Implementation) => [
  registration(RoutingService, routing),
  registration(InferenceService, inference),
];

const listen = (implementation: Implementation) =>
  createRpcServer({ services: registrations(implementation), host: "127.0.0.1", port: 0 });

function lean(resendable: "decide"[]) {
  return async (implementation: Implementation): Promise<Fixture> => {
    const server = await listen(implementation);
    const routing = createLeanClient(RoutingService, { urls: [server.url], resendable });
    const inference = createLeanClient(InferenceService, { urls: [server.url] });
    return { routing, inference, close: () => close(server, routing, inference) };
  };
}

function stock(options: StockClientOptions) {
  return async (implementation: Implementation): Promise<Fixture> => {
    const server = await listen(implementation);
    const routing = createStockClient(RoutingService, server.url, options);
    const inference = createStockClient(InferenceService, server.url, options);
    return { routing, inference, close: () => close(server, routing, inference) };
  };
}

async function close(
  server: { close(graceMs: number): Promise<void> },
  ...clients: Disposable[]
): Promise<void> {
  for (const client of clients) client[Symbol.dispose]();
  await server.close(1000);
}

contract("lean client, lean server", lean([]));
contract("lean client with shared connections, lean server", lean(["decide"]));
contract("stock client by Connect and HTTP/1.1", stock({}));
contract("stock client by Connect and HTTP/2", stock({ httpVersion: "2" }));
contract("stock client by gRPC", stock({ protocol: "grpc", httpVersion: "2" }));
contract("stock client by gRPC-Web", stock({ protocol: "grpc-web" }));
contract("lean client, stock server", async (implementation) => {
  const handler = connectNodeAdapter({
    routes: toStockRoutes(registrations(implementation)),
    interceptors: [createValidateInterceptor()],
  });
  const server = createServer(handler);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const url = `http://127.0.0.1:${typeof address === "object" ? address?.port : ""}`;
  const routing = createLeanClient(RoutingService, { urls: [url], resendable: ["decide"] });
  const inference = createLeanClient(InferenceService, { urls: [url] });
  return {
    routing,
    inference,
    close: async () => {
      routing[Symbol.dispose]();
      inference[Symbol.dispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
});
