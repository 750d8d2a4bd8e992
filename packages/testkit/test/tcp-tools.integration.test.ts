import { once } from "node:events";
import { connect } from "node:net";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import {
  createBlackHole,
  createScriptedProvider,
  createTcpProxy,
  freePort,
  OK,
  rawHttp,
  rawRequest,
  type ScriptedProvider,
  type TcpProxy,
} from "../src/index.ts";

const GET = rawRequest("GET", "/", []);

describe("TcpProxy (BH-44)", () => {
  let provider: ScriptedProvider;
  let proxy: TcpProxy;

  beforeEach(async () => {
    provider = await createScriptedProvider();
    proxy = await createTcpProxy(provider.port);
  });

  afterEach(async () => {
    await proxy.close();
    await provider.close();
  });

  it("forwards and counts", async () => {
    const client = await rawHttp(proxy.port, GET);
    expect((await client.response()).status).toBe(200);
    expect(proxy.connectionsAccepted).toBe(1);
    expect(proxy.bytes).toEqual({ up: GET.length, down: client.received });
    await client.close();
  });

  it("black-holes open and new connections without a reset, and delivers later", async () => {
    const old = await rawHttp(proxy.port, GET);
    await old.response();
    proxy.blackHole();
    await old.send(GET);
    const fresh = await rawHttp(proxy.port, GET);
    await expect(old.response(80)).rejects.toThrow("not within 80 ms");
    await expect(fresh.response(20)).rejects.toThrow("not within 20 ms");
    expect([old.isClosed, fresh.isClosed, provider.calls.length]).toEqual([false, false, 1]);
    await proxy.forward();
    expect((await old.response()).status).toBe(200);
    expect((await fresh.response()).status).toBe(200);
    await old.close();
    await fresh.close();
  });

  it("refuses: resets what is open and takes nothing new, until told to forward", async () => {
    const client = await rawHttp(proxy.port, GET);
    await client.response();
    await proxy.refuse();
    expect(await client.closed).toBe("error");
    await expect(rawHttp(proxy.port, GET)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    await proxy.forward();
    const again = await rawHttp(proxy.port, GET);
    expect((await again.response()).status).toBe(200);
    await again.close();
  });

  it("delays each reply and passes the close on behind it", async () => {
    provider.answer({ ...OK("x"), headers: [...OK("x").headers, ["Connection", "close"]] });
    proxy.delayReplies(80);
    const from = performance.now();
    const client = await rawHttp(proxy.port, GET);
    expect((await client.response()).complete).toBe(true);
    expect(performance.now() - from).toBeGreaterThan(70);
    expect(await client.closed).toBe("end");
  });
});

describe("createBlackHole (BH-41 leg 7)", () => {
  it("neither accepts nor refuses", async (context) => {
    await using hole = await createBlackHole();
    if (!hole.works) context.skip("this kernel completes every handshake");
    const socket = connect(hole.port, "127.0.0.1");
    await expect(once(socket, "connect", { signal: AbortSignal.timeout(300) })).rejects.toThrow("abort");
    socket.destroy();
  });
});

describe("freePort", () => {
  it("gives a port nobody listens on", async () => {
    const port = await freePort();
    await expect(rawHttp(port, GET)).rejects.toMatchObject({ code: "ECONNREFUSED" });
  });

  it("gives none twice, and none of those that outgoing connections take", async () => {
    const ports = await Promise.all(Array.from({ length: 50 }, () => freePort()));
    expect(new Set(ports).size).toBe(50);
    for (const port of ports) expect(port).toBeLessThan(32_768);
  });
});
