import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { create } from "@bufbuild/protobuf";
import {
  InferenceService,
  InferRequestSchema,
  type InferResponse,
} from "@switchyard/proto/inference/v1/inference_service";
import { DecideRequestSchema, RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { eventually } from "@switchyard/testkit";
import { afterEach, expect, test } from "vitest";
import {
  CallContext,
  Code,
  ConnectError,
  createLeanClient,
  createRpcServer,
  type LeanClientOptions,
  readStream,
  registration,
} from "../src/index.ts";
import { scripted } from "./contract.ts";
import { cleanUp, cleanups, start, startRaw } from "./raw.ts";

afterEach(cleanUp);

const NOWHERE = { send: () => true, end() {}, onDrain() {} };

interface Child {
  process: ChildProcess;
  url: string;
  line(): Promise<string>;
}

async function startChild(): Promise<Child> {
  const script = fileURLToPath(new URL("routing-process.ts", import.meta.url));
  const child = spawn(process.execPath, [script], { stdio: ["ignore", "pipe", "inherit"] });
  cleanups.push(() => child.kill("SIGKILL"));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const line = async (): Promise<string> => (await lines.next()).value ?? "";
  return { process: child, url: await line(), line };
}

/** An address where nobody listens. */
async function deadUrl(): Promise<string> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  return `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`;
}

function routingClient(urls: string[], options: Partial<LeanClientOptions<typeof RoutingService>> = {}) {
  const client = createLeanClient(RoutingService, { urls, resendable: ["decide"], ...options });
  cleanups.push(() => client[Symbol.dispose]());
  return (model: string) => {
    const call = new CallContext({ deadline: Date.now() + 10_000 });
    return Promise.resolve(client.decide(create(DecideRequestSchema, { facts: { id: "r", model } }), call));
  };
}

async function inferOnce(urls: string[]): Promise<InferResponse[]> {
  const client = createLeanClient(InferenceService, { urls });
  cleanups.push(() => client[Symbol.dispose]());
  const request = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(3) });
  const got: InferResponse[] = [];
  const answer = readStream<InferResponse>((sink) => client.infer(request, sink, new CallContext()));
  for await (const message of answer) got.push(message);
  return got;
}

async function codeOf(work: Promise<unknown>): Promise<Code | "no error"> {
  try {
    await work;
    return "no error";
  } catch (error) {
    if (error instanceof ConnectError) return error.code;
    throw error;
  }
}

test("a killed router loses no decision: what was in flight goes to another", async () => {
  const child = await startChild();
  const { url } = await start();
  const decide = routingClient([child.url, url]);
  const held = decide("hold");
  expect(await child.line()).toBe("holding");
  const others = Array.from({ length: 20 }, (_, i) => decide(`chat-${i}`));
  child.process.kill("SIGKILL");
  expect((await held).keyName).toBe("hold");
  const names = await Promise.all(others);
  expect(names).toHaveLength(20);
  for (let i = 0; i < 20; i += 1) expect((await decide("after")).keyName).toBe("after");
});

test("a router that is stopped delays no decision for long, and is used again when it goes on", async () => {
  const child = await startChild();
  const { url } = await start();
  const decide = routingClient([child.url, url]);
  const byChild = async (): Promise<boolean> => (await decide("chat")).keyName === "child";
  expect([await byChild(), await byChild()]).toContain(true);
  child.process.kill("SIGSTOP");
  // Half of these go there first. Their deadline is far off.
  expect(await Promise.all(Array.from({ length: 6 }, byChild))).not.toContain(true);
  for (let i = 0; i < 6; i += 1) expect(await byChild()).toBe(false);
  child.process.kill("SIGCONT");
  await eventually(async () => expect([await byChild(), await byChild()]).toContain(true));
});

test("an inference avoids a server that hangs, and one that is only slow keeps its turn", async () => {
  let atFrozen = 0;
  const { url: frozen } = await startRaw((socket) => socket.once("data", () => (atFrozen += 1)));
  const { url } = await start();
  const client = createLeanClient(InferenceService, { urls: [frozen, url] });
  cleanups.push(() => client[Symbol.dispose]());
  const infer = async (): Promise<number> => {
    const request = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(3) });
    let got = 0;
    const answer = readStream<InferResponse>((sink) => client.infer(request, sink, new CallContext()));
    for await (const _ of answer) got += 1;
    return got;
  };
  const stuck = codeOf(infer());
  await eventually(async () => {
    const before = atFrozen;
    const answers = await Promise.race([
      Promise.all([infer(), infer()]),
      new Promise<number[]>((resolve) => setTimeout(resolve, 100, [])),
    ]);
    expect([answers, atFrozen - before]).toEqual([[1, 1], 0]);
  });
  // It is asked again on a new connection, and what was sent there is not sent elsewhere.
  client[Symbol.dispose]();
  expect(await stuck).toBe(Code.Unavailable);
});

test("an inference that takes long is neither lost nor sent again while its server answers what it is asked", async () => {
  const sockets: Socket[] = [];
  const { url: slow } = await startRaw((socket) => {
    socket.on("data", (bytes) => {
      if (!bytes.includes("Health/Check")) sockets.push(socket);
      else socket.write("HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n");
    });
  });
  const client = createLeanClient(InferenceService, { urls: [slow] });
  cleanups.push(() => client[Symbol.dispose]());
  const request = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(3) });
  const lost: unknown[] = [];
  const begin = (): void =>
    client.infer(request, { ...NOWHERE, fail: (error) => lost.push(error) }, new CallContext());
  // The later ones may go where the question of before was answered.
  for (let count = 1; count <= 3; count += 1) {
    begin();
    await eventually(() => expect(sockets).toHaveLength(count));
    await new Promise((resolve) => setTimeout(resolve, 1300));
  }
  expect([lost, sockets.length]).toEqual([[], 3]);
});

test("a restarted router is found again", async () => {
  const first = await start();
  const decide = routingClient([first.url]);
  expect((await decide("a")).keyName).toBe("a");
  await first.close(0);
  expect(await codeOf(decide("b"))).toBe(Code.Unavailable);
  const { routing } = scripted();
  const services = [registration(RoutingService, routing)];
  const second = await createRpcServer({ services, host: "127.0.0.1", port: first.port });
  cleanups.push(() => second.close(0));
  expect((await decide("c")).keyName).toBe("c");
});

test("all servers down is unavailable, whatever the method", async () => {
  const urls = [await deadUrl(), await deadUrl()];
  const decide = routingClient(urls);
  expect(await codeOf(decide("a"))).toBe(Code.Unavailable);
  expect(await codeOf(inferOnce(urls))).toBe(Code.Unavailable);
});

test("an inference goes on to the next server when no connection comes about", async () => {
  const { url } = await start();
  expect(await inferOnce([await deadUrl(), url])).toHaveLength(1);
});

test("an inference that was sent is not sent again", async () => {
  let requests = 0;
  const { url: bad } = await startRaw((socket) =>
    socket.once("data", () => {
      requests += 1;
      socket.destroy();
    }),
  );
  const { url } = await start();
  expect(await codeOf(inferOnce([bad, url]))).toBe(Code.Unavailable);
  expect(requests).toBe(1);
});

test("a decision is sent again only as often as there are servers", async () => {
  let requests = 0;
  const { url: bad } = await startRaw((socket) =>
    socket.once("data", () => {
      requests += 1;
      socket.destroy();
    }),
  );
  expect(await codeOf(routingClient([bad])("a"))).toBe(Code.Unavailable);
  expect(requests).toBe(2);
});

test.each([
  ["no HTTP", "hello\r\n\r\n"],
  ["two lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab"],
  [
    "a length and chunks",
    "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
  ],
  ["half an answer", "HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 9\r\n\r\nab"],
])("an answer that is %s is unavailable", async (_, answer) => {
  const { url: bad } = await startRaw((socket) => socket.once("data", () => socket.end(answer)));
  expect(await codeOf(routingClient([bad])("a"))).toBe(Code.Unavailable);
});

test.each([
  ["HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nab", Code.Unknown],
  ["HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\ncontent-length: 2\r\n\r\n\xff\xff", Code.Internal],
  ["HTTP/1.1 503 x\r\ncontent-length: 0\r\n\r\n", Code.Unavailable],
  ["HTTP/1.1 404 x\r\ncontent-type: application/json\r\ncontent-length: 3\r\n\r\n{]}", Code.Unimplemented],
  ["HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 401 x\r\ncontent-length: 0\r\n\r\n", Code.Unauthenticated],
])("%j has its code", async (answer, code) => {
  const { url: bad } = await startRaw((socket) => socket.once("data", () => socket.end(answer, "latin1")));
  expect(await codeOf(routingClient([bad])("a"))).toBe(code);
});

test("an answer without a length ends with its connection", async () => {
  const { url: raw } = await startRaw((socket) =>
    socket.once("data", () => socket.end("HTTP/1.1 200 OK\r\ncontent-type: application/proto\r\n\r\n")),
  );
  expect((await routingClient([raw])("a")).keyName).toBe("");
});

test("more calls than connections wait their turn, and too many are refused", async () => {
  const { url } = await start();
  const decide = routingClient([url], { resendable: [], maxConnections: 2, maxWaiting: 10 });
  const codes = await Promise.all(Array.from({ length: 20 }, () => codeOf(decide("a"))));
  expect(codes.filter((code) => code === "no error")).toHaveLength(12);
  expect(codes.filter((code) => code === Code.Unavailable)).toHaveLength(8);
});

test("a disposed client ends its calls", async () => {
  const { url } = await start();
  const client = createLeanClient(RoutingService, { urls: [url] });
  const held = client.decide(
    create(DecideRequestSchema, { facts: { id: "r", model: "hang" } }),
    new CallContext(),
  );
  client[Symbol.dispose]();
  expect(await codeOf(Promise.resolve(held))).toBe(Code.Unavailable);
});
