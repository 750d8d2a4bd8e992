import { createServer } from "node:http";
import { comesTrue } from "@switchyard/testkit";
import { describe, expect, test } from "vitest";
import { cleanup, exchanged, listen, rawProvider, reply, request, run, upstream } from "./support.ts";

describe("invariant 7, BH-40: a kept-alive connection that the provider has closed", () => {
  test("variant X: a reset of a reused connection without a byte is sent again once, on a fresh one", async () => {
    const provider = await rawProvider((socket, { request: nth }) => {
      if (nth === 1) {
        socket.write(reply("ok"));
      } else {
        socket.resetAndDestroy();
      }
    });
    const through = upstream();
    for (let i = 0; i < 5; i++) {
      const outcome = await exchanged(through, request(provider.origin));
      expect(outcome.error).toBeNull();
      expect(outcome.text).toBe("ok");
      await comesTrue(() => through.stats().idle === 1);
    }
    // Five exchanges; every other one met a connection that was used up.
    expect(through.stats().resent).toBe(4);
    expect(provider.requests).toHaveLength(5 + 4);
  });

  test("at the bound of connections the replay takes its own place, ahead of the queue", async () => {
    const provider = await rawProvider((socket, { request: nth, text }) => {
      if (nth === 1) {
        socket.write(reply(text.slice(5, 7)));
      } else {
        socket.resetAndDestroy();
      }
    });
    const through = upstream({ maxConnectionsPerOrigin: 1 });
    await exchanged(through, request(provider.origin, { path: "/1" }));
    const outcomes = ["/2", "/3"].map((path) => run(through, request(provider.origin, { path })));
    await Promise.all(outcomes.map(({ finished }) => finished));
    expect(outcomes.map(({ text }) => text)).toEqual(["/2", "/3"]);
    expect(provider.requests.map((text) => text.slice(5, 7))).toEqual(["/1", "/2", "/2", "/3", "/3"]);
    await comesTrue(() => through.stats().idle === 1);
    expect(through.stats()).toMatchObject({ resent: 2, active: 0, queued: 0 });
  });

  test("a fresh connection that fails as well is an error: no second replay", async () => {
    const provider = await rawProvider((socket, { connection, request: nth }) => {
      if (connection === 1 && nth === 1) {
        socket.write(reply("ok"));
      } else {
        socket.resetAndDestroy();
      }
    });
    const through = upstream();
    await exchanged(through, request(provider.origin));
    const outcome = await exchanged(through, request(provider.origin));
    expect(outcome.error?.phase).toBe("before_headers");
    expect(provider.requests).toHaveLength(3);
  });

  test.each([
    ["one byte of the head", "H"],
    ["an interim head", "HTTP/1.1 103 Early Hints\r\n\r\n"],
    ["a piece of a 100", "HTTP/1.1 1"],
  ])("after %s it is an error", async (_name, bytes) => {
    const provider = await rawProvider((socket, { request: nth }) => {
      if (nth === 1) {
        socket.write(reply("ok"));
      } else {
        socket.end(bytes);
      }
    });
    const through = upstream();
    await exchanged(through, request(provider.origin));
    await comesTrue(() => through.stats().idle === 1);
    const outcome = await exchanged(through, request(provider.origin));
    expect(outcome.error?.phase).toBe("before_headers");
    expect(provider.requests).toHaveLength(2);
  });

  test("our own clock is not a closed connection: no replay after headers_timeout", async () => {
    const provider = await rawProvider((socket, { request: nth }) => {
      if (nth === 1) {
        socket.write(reply("ok"));
      }
    });
    const through = upstream();
    await exchanged(through, request(provider.origin));
    const outcome = await exchanged(through, request(provider.origin, { headersTimeoutMs: 100 }));
    expect(outcome.error?.phase).toBe("headers_timeout");
    expect(provider.requests).toHaveLength(2);
  });

  test("sweep: a server that closes idle connections around the pace of requests never fails one", async () => {
    const server = createServer((_incoming, response) => response.end("ok"));
    server.keepAliveTimeout = 40;
    cleanup(() => server.close());
    const origin = await listen(server);
    const through = upstream();
    for (let i = 0; i < 30; i++) {
      const outcome = await exchanged(through, request(origin));
      expect(outcome.error).toBeNull();
      await new Promise((resolve) => setTimeout(resolve, 35 + (i % 11)));
    }
  });
});

describe("the pool", () => {
  test("exchanges in turn share one connection; those at one time do not", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("ok")));
    const through = upstream();
    for (let i = 0; i < 5; i++) {
      await exchanged(through, request(provider.origin));
    }
    expect(provider.sockets).toHaveLength(1);
    await Promise.all([1, 2, 3].map(() => exchanged(through, request(provider.origin))));
    expect(provider.sockets).toHaveLength(3);
    await comesTrue(() => through.stats().idle === 3);
    expect(through.stats()).toMatchObject({ connectionsOpened: 3, active: 0, resent: 0, origins: 1 });
  });

  test("at the bound requests wait in order, and one more than the queue holds is POOL_FULL", async () => {
    const provider = await rawProvider((socket, { text }) => {
      const timer = setTimeout(() => socket.write(reply(text.slice(5, 7))), 20);
      cleanup(() => clearTimeout(timer));
    });
    const through = upstream({ maxConnectionsPerOrigin: 2, maxQueuedPerOrigin: 3 });
    const outcomes = ["/1", "/2", "/3", "/4", "/5", "/6"].map((path) =>
      run(through, request(provider.origin, { path })),
    );
    expect(through.stats()).toMatchObject({ connecting: 2, queued: 3 });
    await Promise.all(outcomes.map(({ finished }) => finished));
    expect(outcomes.map(({ text }) => text)).toEqual(["/1", "/2", "/3", "/4", "/5", ""]);
    expect(outcomes[5]?.error).toMatchObject({ phase: "connect", code: "POOL_FULL" });
    expect(provider.sockets).toHaveLength(2);
    expect(provider.requests.slice(2).map((text) => text.slice(5, 7))).toEqual(["/3", "/4", "/5"]);
  });

  test("waiting counts towards headers_timeout, and an aborted or late waiter gives up its place", async () => {
    const provider = await rawProvider((socket, { text }) => {
      if (text.includes("/go")) {
        socket.write(reply("ok"));
      }
    });
    const through = upstream({ maxConnectionsPerOrigin: 1 });
    const holder = run(through, request(provider.origin));
    const late = run(through, request(provider.origin, { headersTimeoutMs: 100 }));
    const aborted = run(through, request(provider.origin));
    const next = run(through, request(provider.origin, { path: "/go" }));
    aborted.exchange.abort();
    await late.finished;
    expect(late.error?.phase).toBe("headers_timeout");
    expect(through.stats().queued).toBe(1);
    holder.exchange.abort();
    await next.finished;
    expect(next.text).toBe("ok");
    expect(aborted.ends).toBe(0);
  });

  test("a failed connect passes its place to the next in the queue", async () => {
    const through = upstream({ maxConnectionsPerOrigin: 1 });
    const outcomes = [1, 2, 3].map(() => run(through, request("http://127.0.0.1:1")));
    await Promise.all(outcomes.map(({ finished }) => finished));
    expect(outcomes.map(({ error }) => error?.code)).toEqual([
      "ECONNREFUSED",
      "ECONNREFUSED",
      "ECONNREFUSED",
    ]);
    expect(through.stats()).toMatchObject({ origins: 0, queued: 0 });
  });

  test("idle connections are dropped after keepAliveMs or the provider's Keep-Alive, and origins with them", async () => {
    const plain = await rawProvider((socket) => socket.write(reply("ok")));
    const hinted = await rawProvider((socket) => socket.write(reply("ok", "Keep-Alive: timeout=1")));
    const none = await rawProvider((socket) => socket.write(reply("ok", "Connection: close")));
    const through = upstream({ keepAliveMs: 150 });
    const longer = upstream();
    const start = performance.now();
    await exchanged(through, request(plain.origin));
    await comesTrue(() => through.stats().origins === 0);
    expect(performance.now() - start).toBeGreaterThanOrEqual(145);
    const second = performance.now();
    await exchanged(longer, request(hinted.origin));
    await exchanged(longer, request(none.origin));
    await comesTrue(() => longer.stats().origins === 0);
    expect(performance.now() - second).toBeGreaterThanOrEqual(495);
    expect(longer.stats().connectionsOpened).toBe(2);
  });

  test("idle origins give way to new ones; busy ones do not", async () => {
    const [a, b] = await Promise.all([
      rawProvider((socket) => socket.write(reply("a"))),
      rawProvider(() => undefined),
    ]);
    const through = upstream({ maxOrigins: 1 });
    await exchanged(through, request(a.origin));
    await comesTrue(() => through.stats().idle === 1);
    const busy = run(through, request(b.origin));
    await comesTrue(() => b.requests.length === 1);
    expect(through.stats()).toMatchObject({ origins: 1, idle: 0, active: 1 });
    const refused = await exchanged(through, request(a.origin));
    expect(refused.error).toMatchObject({ phase: "connect", code: "POOL_FULL" });
    busy.exchange.abort();
    expect((await exchanged(through, request(a.origin))).text).toBe("a");
  });

  test("an exchange sent from a callback of another uses a connection that is sure to be open", async () => {
    const provider = await rawProvider((socket) => socket.end(reply("ok", "Connection: close")));
    const through = upstream();
    const second = Promise.withResolvers<string>();
    through.send(request(provider.origin), {
      onHead: () => undefined,
      onData: () => undefined,
      onError: second.reject,
      onEnd: () => {
        void exchanged(through, request(provider.origin)).then(({ text }) => second.resolve(text));
      },
    });
    expect(await second.promise).toBe("ok");
    expect(through.stats().resent).toBe(0);
  });
});
