import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { create, toBinary } from "@bufbuild/protobuf";
import { FAREWELL } from "@switchyard/http1";
import { InferenceService, InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import { DecideRequestSchema, RoutingService } from "@switchyard/proto/routing/v1/routing_service";
import { comesTrue, eventually } from "@switchyard/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { ClientConnection, type Exchange } from "../src/http1/client-connection.ts";
import {
  CallContext,
  Code,
  type ConnectError,
  createLeanClient,
  createRpcServer,
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
): Promise<RpcServer & Pick<Implementation, "seen">> {
  const { routing, inference, seen } = scripted();
  const services = [registration(RoutingService, routing), registration(InferenceService, inference)];
  const server = await createRpcServer({ services, host: "127.0.0.1", port: 0, ...options });
  cleanups.push(() => server.close(0));
  return Object.assign(server, { seen });
}

/** A server of raw bytes. */
async function startRaw(onSocket: (socket: Socket) => void): Promise<{ url: string; port: number }> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => {});
    onSocket(socket);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return { url: `http://127.0.0.1:${port}`, port };
}

interface Raw {
  socket: Socket;
  text: string;
  /** How it closed, once it did. */
  closed: "end" | "reset" | undefined;
}

async function open(server: { port: number }): Promise<Raw> {
  const socket = connect({ port: server.port, host: "127.0.0.1", allowHalfOpen: true });
  cleanups.push(() => socket.destroy());
  const raw: Raw = { socket, text: "", closed: undefined };
  socket.on("data", (bytes: Buffer) => (raw.text = (raw.text + bytes.toString("latin1")).slice(-100_000)));
  socket.on("end", () => (raw.closed ??= "end"));
  socket.on("error", () => (raw.closed = "reset"));
  await once(socket, "connect");
  return raw;
}

function post(path: string, type: string, body: Uint8Array, fields = ""): Buffer {
  const head = `POST ${path} HTTP/1.1\r\nhost: x\r\ncontent-type: ${type}\r\n${fields}content-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head, "latin1"), body]);
}

function decideBytes(model: string, fields = ""): Buffer {
  const body = toBinary(DecideRequestSchema, create(DecideRequestSchema, { facts: { id: "r", model } }));
  return post("/switchyard.routing.v1.RoutingService/Decide", "application/proto", body, fields);
}

function inferBytes(path: string): Buffer {
  const message = toBinary(InferRequestSchema, create(InferRequestSchema, { path }));
  const envelope = Buffer.alloc(5);
  envelope.writeUInt32BE(message.length, 1);
  const body = Buffer.concat([envelope, message]);
  return post("/switchyard.inference.v1.InferenceService/Infer", "application/connect+proto", body);
}

function inferenceClient(urls: string[]): () => Promise<"answered" | ConnectError> {
  // Its clock stands: a server that it left alone stays so.
  const client = createLeanClient(InferenceService, { urls, now: () => 0 });
  cleanups.push(() => client[Symbol.dispose]());
  return () =>
    new Promise((resolve) => {
      const request = create(InferRequestSchema, { path: "/echo", body: new Uint8Array(3) });
      const sink = { send: () => true, end: () => resolve("answered"), fail: resolve, onDrain() {} };
      client.infer(request, sink, new CallContext());
    });
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe("a server that drains", () => {
  test.each([
    ["lean", ""],
    ["node's own", "connection: keep-alive\r\n"],
  ])(
    "says farewell on an idle connection (%s), and reads on so that the farewell arrives",
    async (_, fields) => {
      const server = await start();
      const idle = await open(server);
      idle.socket.write(decideBytes("one", fields));
      await comesTrue(() => idle.text.includes("200 OK"));
      const before = server.seen.calls;
      idle.text = "";
      const closed = server.close(10_000);
      // What is on its way in that moment.
      idle.socket.write(decideBytes("two", fields));
      await comesTrue(() => idle.closed !== undefined);
      idle.socket.write(decideBytes("three", fields));
      for (let i = 0; i < 5; i += 1) await turn();
      expect([idle.closed, idle.text, server.seen.calls]).toEqual(["end", FAREWELL, before]);
      idle.socket.end();
      await closed;
    },
  );

  test("waits only so long for a client that never closes", async () => {
    const server = await start();
    const idle = await open(server);
    idle.socket.write(decideBytes("one"));
    await comesTrue(() => idle.text.includes("200 OK"));
    await server.close(30_000);
    expect(idle.text).toContain(FAREWELL);
  });

  test("says farewell after a stream that began before", async () => {
    const server = await start();
    const streaming = await open(server);
    streaming.socket.write(inferBytes("/flood"));
    await comesTrue(() => streaming.text.length > 100);
    const closed = server.close(20_000);
    await comesTrue(() => streaming.closed !== undefined);
    expect(streaming.text.endsWith(`0\r\n\r\n${FAREWELL}`)).toBe(true);
    streaming.socket.end();
    await closed;
  });

  test("reads the rest of a request that has begun to come, and answers it as the last", async () => {
    const server = await start();
    const raw = await open(server);
    const bytes = decideBytes("slow");
    raw.socket.write(bytes.subarray(0, 80));
    for (let i = 0; i < 5; i += 1) await turn();
    const closed = server.close(10_000);
    raw.socket.write(bytes.subarray(80));
    await comesTrue(() => raw.closed !== undefined);
    expect(raw.text).toMatch(/^HTTP\/1.1 200 OK\r\n.*\r\nconnection: close\r\n/);
    raw.socket.end();
    await closed;
  });
});

describe("a client", () => {
  test("sends what met a farewell to another server, and knows that this one leaves", async () => {
    let requests = 0;
    const leaving = await startRaw((socket) => {
      socket.on("data", () => {
        requests += 1;
        socket.write(FAREWELL);
      });
    });
    const server = await start();
    const infer = inferenceClient([leaving.url, server.url]);
    for (let i = 0; i < 10; i += 1) expect(await infer()).toBe("answered");
    expect([requests, server.seen.calls]).toEqual([1, 10]);
  });

  test("asks every server once where all leave", async () => {
    let requests = 0;
    const { url } = await startRaw((socket) => {
      socket.on("data", () => {
        requests += 1;
        socket.write(FAREWELL);
      });
    });
    expect(await inferenceClient([url])()).toMatchObject({ code: Code.Unavailable });
    expect(requests).toBe(2);
  });

  test("does not take an error of that status for a farewell", async () => {
    const { url } = await startRaw((socket) => {
      socket.on("data", () =>
        socket.write(
          "HTTP/1.1 408 x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}",
        ),
      );
    });
    const server = await start();
    expect(await inferenceClient([url, server.url])()).toMatchObject({ rawMessage: "HTTP 408" });
  });

  const ok = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n";
  test.each([
    ["a farewell", FAREWELL, ["unsent", "unsent", "unsent"]],
    ["an answer, then a farewell", `${ok}\r\n${FAREWELL}`, ["answered", "unsent", "unsent"]],
    ["an answer with `close`", `${ok}connection: close\r\n\r\n`, ["answered", "unsent", "unsent"]],
    [
      "half an answer with `close`",
      "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 9\r\n\r\nab",
      ["broken", "unsent", "unsent"],
    ],
    ["an answer, then the end", `${ok}\r\n`, ["answered", "silent", "silent"]],
  ])("of three requests in a row, to %s", async (_, bytes, fates) => {
    const { port } = await startRaw((socket) => socket.once("data", () => socket.end(bytes)));
    const told: string[] = [];
    const idle: ClientConnection[] = [];
    const owner = { onIdle: (one: ClientConnection) => idle.push(one), onClosed() {}, onLeaving() {} };
    const connection = new ClientConnection("127.0.0.1", port, 1000, owner);
    const exchange = (i: number): Exchange => ({
      onHead() {},
      onData() {},
      onEnd: () => (told[i] = "answered"),
      onLost: (loss) => (told[i] = loss),
    });
    for (let i = 0; i < 3; i += 1) connection.send([decideBytes("x")], exchange(i));
    await comesTrue(() => told.filter(Boolean).length === 3);
    expect([told, idle]).toEqual([fates, []]);
  });

  test("leaves an idle connection on which bytes come that it did not ask for", async () => {
    const sockets: Socket[] = [];
    const { port } = await startRaw((socket) => sockets.push(socket));
    let left = 0;
    let closed = 0;
    const owner = { onIdle() {}, onClosed: () => (closed += 1), onLeaving: () => (left += 1) };
    for (const bytes of [FAREWELL, "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "H"]) {
      const connection = new ClientConnection("127.0.0.1", port, 1000, owner);
      await comesTrue(() => sockets.length === 1);
      sockets.pop()?.write(bytes);
      await comesTrue(() => connection.closed);
    }
    expect([left, closed]).toEqual([1, 3]);
  });
});

describe("the race of a call and a drain", () => {
  // Call and drain begin so many turns of the event loop apart: the call first, together, the drain first.
  const apart = Array.from({ length: 9 }, (_, i) => i - 4);

  /** What became of the calls, and how many were served. */
  async function round(turns: number, warm: boolean): Promise<[unknown[], number]> {
    const [leaving, staying] = [await start(), await start()];
    const infer = inferenceClient([leaving.url, staying.url]);
    // Several idle connections to each.
    if (warm) await Promise.all(Array.from({ length: 8 }, infer));
    const before = leaving.seen.calls + staying.seen.calls;
    let closed: Promise<void> | undefined;
    let calls: Promise<unknown>[] = [];
    for (let i = Math.min(0, turns); i <= Math.max(0, turns); i += 1) {
      if (i === 0) closed = leaving.close(10_000);
      if (i === turns) calls = Array.from({ length: 6 }, infer);
      await turn();
    }
    const fates = await Promise.all(calls);
    await closed;
    return [fates, leaving.seen.calls + staying.seen.calls - before];
  }

  test.each([
    ["idle connections", true],
    ["new connections", false],
  ])("loses no inference and serves none twice: %s", async (_, warm) => {
    const whole = [Array.from({ length: 6 }, () => "answered"), 6];
    for (let again = 0; again < 5; again += 1) {
      const rounds = await Promise.all(apart.map((turns) => round(turns, warm)));
      expect(rounds).toEqual(rounds.map(() => whole));
    }
  });
});

describe("patience", () => {
  test("a stream whose reader takes nothing ends, and its call is cancelled", async () => {
    const server = await start({ patience: { stallMs: 200 } });
    const { socket } = await open(server);
    socket.pause();
    socket.write(inferBytes("/flood"));
    await comesTrue(() => server.seen.calls === 1);
    await server.seen.cancelled;
    expect(server.seen.sent).toBeLessThan(4096);
  });

  test("a reader that is slow and takes some is not", async () => {
    const server = await start({ patience: { stallMs: 400 } });
    const raw = await open(server);
    raw.socket.write(inferBytes("/many"));
    await eventually(() => expect(raw.text).toContain("0\r\n\r\n"));
    raw.socket.write(inferBytes("/hang"));
    raw.text = "";
    // Longer than a stall: what it waits for is the server.
    await new Promise((resolve) => setTimeout(resolve, 900));
    expect([raw.text.includes("200 OK"), raw.closed]).toEqual([true, undefined]);
  });

  test.each([
    ["a body", { stallMs: 200 }, 200],
    ["a head", { headMs: 200 }, 60],
    ["a next request", { idleMs: 200 }, 0],
  ])("%s that does not come is not waited for", async (_, patience, size) => {
    const server = await start({ patience });
    const raw = await open(server);
    const bytes = Buffer.concat([decideBytes("x".repeat(100))]);
    raw.socket.write(bytes.subarray(0, size));
    await comesTrue(() => raw.closed !== undefined, 5000);
    expect([raw.text, raw.closed]).toEqual([FAREWELL, "end"]);
  });
});
