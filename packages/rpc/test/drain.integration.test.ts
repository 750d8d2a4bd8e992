import type { Socket } from "node:net";
import { create } from "@bufbuild/protobuf";
import { FAREWELL } from "@switchyard/http1";
import { InferenceService, InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import { comesTrue } from "@switchyard/testkit";
import { afterEach, describe, expect, test } from "vitest";
import { ClientConnection, type Exchange } from "../src/http1/client-connection.ts";
import { CallContext, Code, type ConnectError, createLeanClient } from "../src/index.ts";
import { cleanUp, cleanups, decideBytes, inferBytes, open, start, startRaw } from "./raw.ts";

afterEach(cleanUp);

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

  test("leaves all idle connections to a server that says farewell on one", async () => {
    const sockets: Socket[] = [];
    const { url } = await startRaw((socket) => {
      sockets.push(socket);
      if (sockets.length < 4) return;
      const answer =
        "HTTP/1.1 200 OK\r\ncontent-type: application/connect+proto\r\ncontent-length: 7\r\n\r\n";
      for (const one of sockets) one.on("data", () => one.write(`${answer}\x02\0\0\0\x02{}`));
    });
    const infer = inferenceClient([url]);
    await Promise.all([infer(), infer(), infer(), infer()]);
    sockets[0]?.write(FAREWELL);
    await comesTrue(() => sockets.every((socket) => socket.destroyed));
    expect(sockets).toHaveLength(4);
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
