import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import {
  Health,
  HealthCheckRequestSchema,
  HealthCheckResponse_ServingStatus as Status,
  HealthListRequestSchema,
  type HealthCheckResponse,
} from "@switchyard/proto/grpc/health/v1/health";
import {
  InferenceService,
  InferRequestSchema,
  type InferResponse,
} from "@switchyard/proto/inference/v1/inference_service";
import { DecideRequestSchema, RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { comesTrue, eventually } from "@switchyard/testkit";
import { afterEach, describe, expect, test } from "vitest";
import {
  CallContext,
  Code,
  createLeanClient,
  createRpcServer,
  createStockClient,
  readStream,
  registration,
  type RpcServer,
  type RpcServerOptions,
} from "../src/index.ts";
import { type Implementation, scripted } from "./contract.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function start(
  options: Partial<RpcServerOptions> = {},
): Promise<{ server: RpcServer; implementation: Implementation }> {
  const implementation = scripted();
  const services = [
    registration(RoutingService, implementation.routing),
    registration(InferenceService, implementation.inference),
  ];
  const server = await createRpcServer({ services, host: "127.0.0.1", port: 0, ...options });
  cleanups.push(() => server.close(0));
  return { server, implementation };
}

function disposing<T extends Disposable>(client: T): T {
  cleanups.push(() => client[Symbol.dispose]());
  return client;
}

const path = "/switchyard.routing.v1.RoutingService/Decide";

function requestBytes(model: string, fields = ""): Buffer {
  const body = toBinary(DecideRequestSchema, create(DecideRequestSchema, { facts: { id: "r", model } }));
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\n${fields}content-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

async function open(server: RpcServer): Promise<{ socket: Socket; received: () => string }> {
  const socket = connect(server.port, server.host);
  cleanups.push(() => socket.destroy());
  let text = "";
  socket.setEncoding("latin1");
  socket.on("data", (piece: string) => {
    text += piece;
  });
  socket.on("error", () => {});
  await once(socket, "connect");
  return { socket, received: () => text };
}

const answersIn = (text: string): number => text.split("HTTP/1.1 200 OK").length - 1;

describe("one port", () => {
  test("an occupied one is refused with its address", async () => {
    const { server } = await start();
    const second = createRpcServer({ services: [], host: server.host, port: server.port });
    await expect(second).rejects.toThrow(`cannot listen on 127.0.0.1:${server.port}: the address is in use`);
  });

  test("a request in single bytes, then several in one write", async () => {
    const { server } = await start();
    const { socket, received } = await open(server);
    for (const byte of requestBytes("one")) {
      socket.write(Buffer.from([byte]));
      await new Promise((resolve) => setImmediate(resolve));
    }
    await comesTrue(() => answersIn(received()) === 1);
    socket.write(Buffer.concat([requestBytes("two"), requestBytes("three"), requestBytes("four")]));
    await comesTrue(() => answersIn(received()) === 4);
    expect(received().indexOf("two")).toBeLessThan(received().indexOf("three"));
  });

  test("lean requests, then one for node's server, then any, on one connection", async () => {
    const { server } = await start();
    const { socket, received } = await open(server);
    const odd = `GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n`;
    socket.write(Buffer.concat([requestBytes("one"), Buffer.from(odd), requestBytes("two")]));
    await comesTrue(() => answersIn(received()) === 2 && received().includes("404"));
    socket.write(requestBytes("three", "connection: keep-alive\r\n"));
    await comesTrue(() => answersIn(received()) === 3);
    expect(received()).toContain("three");
  });

  test("a chunked body", async () => {
    const { server } = await start();
    const { socket, received } = await open(server);
    const body = toBinary(
      DecideRequestSchema,
      create(DecideRequestSchema, { facts: { id: "r", model: "chat" } }),
    );
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: application/proto\r\ntransfer-encoding: chunked\r\n\r\n`,
    );
    socket.write(
      Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from("\r\n0\r\n\r\n")]),
    );
    await comesTrue(() => received().includes("chat"));
    expect(answersIn(received())).toBe(1);
  });

  test.each([
    "garbage\r\n\r\n",
    "PROPFIND / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n",
  ])("%j is refused", async (text) => {
    const { server } = await start();
    const { socket, received } = await open(server);
    socket.write(text);
    await once(socket, "close");
    expect(received()).toContain("HTTP/1.1 400");
  });

  test("Connect with JSON", async () => {
    const { server } = await start();
    const response = await fetch(`${server.url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ facts: { id: "r", model: "chat" } }),
    });
    expect(await response.json()).toMatchObject({ keyName: "chat" });
  });
});

describe("limits", () => {
  test.each([1000, 300_000])(
    "a request of %d bytes over the limit is refused, on any way in",
    async (size) => {
      const { server } = await start({ maxMessageBytes: 500 });
      const request = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(size) });
      for (const client of [
        createLeanClient(InferenceService, { urls: [server.url] }),
        createStockClient(InferenceService, server.url),
        createStockClient(InferenceService, server.url, { httpVersion: "2" }),
        createStockClient(InferenceService, server.url, { httpVersion: "2", protocol: "grpc" }),
      ]) {
        disposing(client);
        const reader = readStream<InferResponse>((sink) => client.infer(request, sink, new CallContext()));
        await expect(reader.next()).rejects.toMatchObject({ code: Code.ResourceExhausted });
      }
    },
  );

  test("an answer over the client's limit is refused", async () => {
    const { server } = await start();
    const client = disposing(
      createLeanClient(InferenceService, { urls: [server.url], maxMessageBytes: 500 }),
    );
    const request = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(1000) });
    const reader = readStream<InferResponse>((sink) => client.infer(request, sink, new CallContext()));
    await expect(reader.next()).rejects.toMatchObject({ code: Code.ResourceExhausted });
  });
});

describe("faults", () => {
  test("a fault of a handler is told to its owner, on any way in", async () => {
    const told: string[] = [];
    const { server } = await start({
      onError: (error, method) => told.push(`${method}: ${(error as Error).message}`),
    });
    const request = create(DecideRequestSchema, { facts: { id: "r", model: "bug" } });
    const lean = disposing(createLeanClient(RoutingService, { urls: [server.url] }));
    const grpc = disposing(
      createStockClient(RoutingService, server.url, { protocol: "grpc", httpVersion: "2" }),
    );
    await expect(lean.decide(request, new CallContext())).rejects.toMatchObject({ code: Code.Internal });
    await expect(grpc.decide(request, new CallContext())).rejects.toMatchObject({ code: Code.Internal });
    const line = "switchyard.routing.v1.RoutingService/Decide: a secret";
    expect(told).toEqual([line, line]);
  });

  test("a caller whose connection breaks has left", async () => {
    const { server, implementation } = await start();
    const { socket } = await open(server);
    socket.write(requestBytes("hang"));
    await comesTrue(() => implementation.seen.calls === 1);
    socket.resetAndDestroy();
    await expect(implementation.seen.cancelled).resolves.toBeUndefined();
  });
});

describe("health", () => {
  const check = (service: string) => create(HealthCheckRequestSchema, { service });

  test("answers per service and for the process", async () => {
    const { server } = await start({ serving: false });
    const health = disposing(createLeanClient(Health, { urls: [server.url] }));
    const status = async (service: string) => (await health.check(check(service), new CallContext())).status;
    expect(await status("")).toBe(Status.NOT_SERVING);
    server.setServing(true);
    expect([await status(""), await status(RoutingService.typeName)]).toEqual([
      Status.SERVING,
      Status.SERVING,
    ]);
    server.setServing(false, RoutingService.typeName);
    expect([await status(""), await status(RoutingService.typeName)]).toEqual([
      Status.SERVING,
      Status.NOT_SERVING,
    ]);
    await expect(status("unknown")).rejects.toMatchObject({ code: Code.NotFound });
    const { statuses } = await health.list(create(HealthListRequestSchema), new CallContext());
    expect(Object.keys(statuses).toSorted()).toEqual([
      "",
      InferenceService.typeName,
      RoutingService.typeName,
    ]);
  });

  test("a watch sees changes, and ends with a drain", async () => {
    const { server } = await start();
    const health = disposing(createStockClient(Health, server.url, { protocol: "grpc", httpVersion: "2" }));
    const watch = readStream<HealthCheckResponse>((sink) => health.watch(check(""), sink, new CallContext()));
    const next = async () => (await watch.next()).value?.status;
    expect(await next()).toBe(Status.SERVING);
    server.setServing(false);
    expect(await next()).toBe(Status.NOT_SERVING);
    server.setServing(true);
    expect(await next()).toBe(Status.SERVING);
    const closed = server.close(10_000);
    expect(await next()).toBe(Status.NOT_SERVING);
    expect((await watch.next()).done).toBe(true);
    await closed;
  });
});

describe("drain", () => {
  const request = create(InferRequestSchema, { path: "/flood" });

  test("a running stream finishes, idle connections close, new ones are refused", async () => {
    const { server } = await start();
    const client = disposing(createLeanClient(InferenceService, { urls: [server.url] }));
    const routing = disposing(createLeanClient(RoutingService, { urls: [server.url] }));
    await routing.decide(create(DecideRequestSchema, { facts: { id: "r" } }), new CallContext());
    const reader = readStream<InferResponse>((sink) => client.infer(request, sink, new CallContext()));
    await reader.next();
    const closed = server.close(20_000);
    await eventually(() => expect(open(server)).rejects.toMatchObject({ code: "ECONNREFUSED" }));
    let count = 1;
    while (!(await reader.next()).done) count += 1;
    expect(count).toBe(4096);
    await closed;
  });

  test("what is left after the grace is cut, and its calls are cancelled", async () => {
    const { server, implementation } = await start();
    const client = disposing(createLeanClient(InferenceService, { urls: [server.url] }));
    const hang = create(InferRequestSchema, { path: "/hang" });
    const reader = readStream<InferResponse>((sink) => client.infer(hang, sink, new CallContext()));
    await reader.next();
    await server.close(20);
    await implementation.seen.cancelled;
    await expect(reader.next()).rejects.toMatchObject({ code: Code.Unavailable });
  });

  test("under load no request is lost", async () => {
    const [a, b] = [await start(), await start()];
    const urls = [a.server.url, b.server.url];
    const client = disposing(createLeanClient(InferenceService, { urls }));
    const echo = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(3) });
    let answered = 0;
    const work = Array.from({ length: 8 }, async () => {
      for (let i = 0; i < 200; i += 1) {
        for await (const _ of readStream<InferResponse>((sink) =>
          client.infer(echo, sink, new CallContext()),
        )) {
          answered += 1;
        }
        if (answered === 400) await a.server.close(5000);
      }
    });
    await Promise.all(work);
    expect(answered).toBe(1600);
  });
});
