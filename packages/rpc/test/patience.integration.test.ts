import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2 } from "node:http2";
import { connect, type Socket } from "node:net";
import { FAREWELL } from "@switchyard/http1";
import { comesTrue } from "@switchyard/testkit";
import { afterEach, describe, expect, test } from "vitest";
import type { RpcServer } from "../src/index.ts";
import { cleanUp, cleanups, decideBytes, envelope, inferBytes, open, start } from "./raw.ts";

afterEach(cleanUp);

function openStream(server: RpcServer, type: string, over?: Socket): ClientHttp2Stream {
  const session = connectHttp2(server.url, over === undefined ? {} : { createConnection: () => over });
  cleanups.push(() => session.destroy());
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": "/switchyard.inference.v1.InferenceService/Infer",
    "content-type": type,
    te: "trailers",
  });
  stream.on("error", () => {});
  return stream;
}

describe("patience", () => {
  test.each([
    ["lean", ""],
    ["node's HTTP/1.1", "connection: keep-alive\r\n"],
  ])("a stream whose reader takes nothing ends, and its call is cancelled: %s", async (_, fields) => {
    const server = await start({ patience: { stallMs: 200 } });
    const { socket } = await open(server);
    socket.pause();
    socket.write(inferBytes("/flood", fields));
    await comesTrue(() => server.seen.calls === 1);
    await server.seen.cancelled;
    expect(server.seen.sent).toBeLessThan(4096);
  });

  test.each(["application/connect+proto", "application/grpc+proto"])(
    "a stream whose reader takes nothing ends, and its call is cancelled: HTTP/2, %s",
    async (type) => {
      const server = await start({ patience: { stallMs: 200 } });
      const stream = openStream(server, type);
      stream.pause();
      stream.end(envelope("/flood"));
      await comesTrue(() => server.seen.calls === 1);
      await server.seen.cancelled;
      expect(server.seen.sent).toBeLessThan(4096);
    },
  );

  test.each(["application/connect+proto", "application/grpc+proto"])(
    "an upload that stops ends, and an answer that takes its time does not: HTTP/2, %s",
    async (type) => {
      const server = await start({ patience: { stallMs: 200 } });
      const [stopped, waiting] = [openStream(server, type), openStream(server, type)];
      stopped.write(envelope("/hang").subarray(0, 3));
      waiting.end(envelope("/hang"));
      await once(waiting, "response");
      await comesTrue(() => stopped.closed);
      await new Promise((resolve) => setTimeout(resolve, 500));
      expect(waiting.closed).toBe(false);
    },
  );

  test.each([
    ["closes", (socket: Socket) => socket.destroy()],
    ["half-closes", (socket: Socket) => socket.end()],
    ["resets", (socket: Socket) => socket.resetAndDestroy()],
  ])("a caller that %s an HTTP/2 connection has left", async (_, leave) => {
    const server = await start();
    const socket = connect(server.port, "127.0.0.1");
    cleanups.push(() => socket.destroy());
    socket.on("error", () => {});
    const stream = openStream(server, "application/grpc+proto", socket);
    stream.end(envelope("/hang"));
    await once(stream, "response");
    leave(socket);
    await server.seen.cancelled;
    expect(server.seen.calls).toBe(1);
  });

  test("an HTTP/2 connection carries a bounded number of calls", async () => {
    const server = await start();
    const stream = openStream(server, "application/grpc+proto");
    await once(stream.session as ClientHttp2Session, "remoteSettings");
    expect(stream.session?.remoteSettings.maxConcurrentStreams).toBe(1024);
  });

  test("an upload to node's HTTP/1.1 that stops ends its connection", async () => {
    const server = await start({ patience: { stallMs: 200 } });
    const raw = await open(server);
    raw.socket.write(inferBytes("/echo", "connection: keep-alive\r\n").subarray(0, -1));
    await comesTrue(() => raw.closed !== undefined);
    expect(server.seen.calls).toBe(0);
  });

  test("a slow reader that takes some is not stalled", async () => {
    const server = await start({ patience: { stallMs: 1000 } });
    const { socket } = await open(server);
    let cancelled = false;
    let read = 0;
    socket.on("data", (bytes: Buffer) => {
      read += bytes.length;
      // Some megabytes a second: neither all at once nor nothing for long.
      socket.pause();
      setTimeout(() => socket.resume(), 10);
    });
    socket.write(inferBytes("/flood"));
    await comesTrue(() => server.seen.calls === 1);
    void server.seen.cancelled.then(() => (cancelled = true));
    await new Promise((resolve) => setTimeout(resolve, 2500));
    expect([cancelled, read > 0, server.seen.sent < 4096]).toEqual([false, true, true]);
  });

  test("a stream that waits for its server is not stalled", async () => {
    const server = await start({ patience: { stallMs: 200 } });
    const raw = await open(server);
    raw.socket.write(inferBytes("/hang"));
    await comesTrue(() => raw.text.includes("200 OK"));
    await new Promise((resolve) => setTimeout(resolve, 600));
    expect(raw.closed).toBeUndefined();
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
