import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { promisify } from "node:util";
import { InferenceService } from "@switchyard/proto/inference/v1/inference_service";
import { RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createRpcServer, registration, type RpcServer } from "../src/index.ts";
import { scripted } from "./contract.ts";

const run = promisify(execFile);
const require = createRequire(import.meta.url);
const buf = require.resolve("@bufbuild/buf/bin/buf");

/** `buf curl` as a client that is not JavaScript, by reflection. */
describe("buf curl", () => {
  let server: RpcServer;
  beforeAll(async () => {
    const { routing, inference } = scripted();
    const services = [registration(RoutingService, routing), registration(InferenceService, inference)];
    server = await createRpcServer({ services, host: "127.0.0.1", port: 0 });
  });
  afterAll(() => server.close(1000));

  const curl = async (...args: string[]): Promise<string> =>
    (await run(process.execPath, [buf, "curl", "--http2-prior-knowledge", ...args])).stdout;
  const decide = JSON.stringify({ facts: { id: "r", model: "größe" } });
  const infer = JSON.stringify({ path: "/echo", body: "AQID" });

  test("lists services and methods", async () => {
    const services = await curl("--list-services", server.url);
    // Older tools, and the Python client, know only its first name.
    const asBefore = await curl("--reflect-protocol", "grpc-v1alpha", "--list-services", server.url);
    expect(asBefore).toBe(services);
    expect(services.trim().split("\n").toSorted()).toEqual([
      "grpc.health.v1.Health",
      "grpc.reflection.v1.ServerReflection",
      "grpc.reflection.v1alpha.ServerReflection",
      InferenceService.typeName,
      RoutingService.typeName,
    ]);
    expect(await curl("--list-methods", server.url)).toContain(`${RoutingService.typeName}/Decide`);
  });

  test.each(["connect", "grpc", "grpcweb"])("%s: unary and stream", async (protocol) => {
    const unary = await curl(
      "--protocol",
      protocol,
      "-d",
      decide,
      `${server.url}/${RoutingService.typeName}/Decide`,
    );
    expect(JSON.parse(unary)).toMatchObject({ keyName: "größe" });
    const stream = await curl(
      "--protocol",
      protocol,
      "-d",
      infer,
      `${server.url}/${InferenceService.typeName}/Infer`,
    );
    expect(JSON.parse(stream)).toEqual({ chunk: "AQID" });
  });

  test("health over gRPC", async () => {
    const health = await curl("--protocol", "grpc", "-d", "{}", `${server.url}/grpc.health.v1.Health/Check`);
    expect(JSON.parse(health)).toEqual({ status: "SERVING" });
  });
});
