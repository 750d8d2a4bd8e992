import { createServer } from "node:http";
import { comesTrue } from "@switchyard/testkit";
import { describe, expect, test } from "vitest";
import { createUpstream } from "../src/index.ts";
import { cleanup, exchanged, header, listen, rawProvider, reply, request, run, upstream } from "./support.ts";

describe("one exchange", () => {
  test("BH-36: the request has one Host, one framing header that fits the body, and nothing hop-by-hop", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("hello")));
    const outcome = await exchanged(
      upstream(),
      request(provider.origin, {
        body: Buffer.from("é"),
        headers: [
          "host",
          "elsewhere",
          "expect",
          "100-continue",
          "content-length",
          "9",
          "te",
          "trailers",
          "x-a",
          "1",
        ],
      }),
    );
    expect(outcome.text).toBe("hello");
    const [head, body] = provider.requests[0]?.split("\r\n\r\n") ?? [];
    expect(head?.toLowerCase().split("\r\n")).toEqual([
      "post /v1/x?key=secret http/1.1",
      `host: ${provider.origin.slice("http://".length)}`,
      "connection: keep-alive",
      "x-a: 1",
      "content-length: 2",
    ]);
    expect(body).toBe(Buffer.from("é").toString("latin1"));
  });

  test("BH-36: hop-by-hop headers, cookies and trailers of the response do not cross", async () => {
    const provider = await rawProvider((socket) =>
      socket.end(
        "HTTP/1.1 200 OK\r\nConnection: close, X-Up-Hop\r\nX-Up-Hop: z\r\nTransfer-Encoding: chunked\r\n" +
          "Set-Cookie: up=1\r\nTrailer: X-T\r\nX-Kept: Yes\r\n\r\n2\r\nok\r\n0\r\nX-T: 1\r\n\r\n",
      ),
    );
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.head).toEqual({ status: 200, headers: ["x-kept", "Yes"] });
    expect(outcome.text).toBe("ok");
    expect(outcome.error).toBeNull();
  });

  test("a redirect is handed back, not followed", async () => {
    const provider = await rawProvider((socket) =>
      socket.write("HTTP/1.1 307 Temporary Redirect\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n"),
    );
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.head?.status).toBe(307);
    expect(header(outcome, "location")).toBe("/elsewhere");
    expect(provider.requests).toHaveLength(1);
  });

  test("interim 100, 102 and 103 heads are read over", async () => {
    const provider = await rawProvider((socket) => {
      socket.write(
        "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n",
      );
      socket.write(reply("done"));
    });
    const through = upstream();
    for (let i = 0; i < 2; i++) {
      const outcome = await exchanged(through, request(provider.origin));
      expect(outcome.head?.status).toBe(200);
      expect(outcome.text).toBe("done");
    }
    expect(provider.sockets).toHaveLength(1);
  });

  test("a switch of protocols nobody asked for is refused", async () => {
    const provider = await rawProvider((socket) =>
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: h2c\r\n\r\nxx"),
    );
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.error?.phase).toBe("before_headers");
  });

  test("HEAD and 204 end without a body, whatever coding they name", async () => {
    const provider = await rawProvider((socket, { text }) =>
      socket.write(
        text.startsWith("HEAD")
          ? "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 20\r\n\r\n"
          : "HTTP/1.1 204 No Content\r\nContent-Encoding: gzip\r\n\r\n",
      ),
    );
    for (const method of ["HEAD", "DELETE"]) {
      const outcome = await exchanged(upstream(), request(provider.origin, { method, body: null }));
      expect(outcome.error).toBeNull();
      expect(outcome.head?.headers).toEqual([]);
      expect(outcome.chunks).toEqual([]);
    }
  });

  test("an answer that comes before the body is fully sent arrives, and that connection is not used again", async () => {
    const server = createServer((_incoming, response) => {
      response.writeHead(413, { "content-length": "3" });
      response.end("big");
    });
    cleanup(() => server.closeAllConnections());
    cleanup(() => server.close());
    const origin = await listen(server);
    const through = upstream();
    const outcome = await exchanged(through, request(origin, { body: Buffer.alloc(32 * 1024 * 1024) }));
    expect(outcome.error).toBeNull();
    expect(outcome.head?.status).toBe(413);
    expect(outcome.text).toBe("big");
    await comesTrue(() => through.stats().active === 0);
    expect((await exchanged(through, request(origin))).head?.status).toBe(413);
  });

  test("a request that cannot be put on the wire fails in phase send, without a word of it", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("x")));
    const through = upstream();
    await exchanged(through, request(provider.origin));
    for (const bad of [
      request(provider.origin, { path: "/a b?key=SECRET" }),
      request(provider.origin, { headers: ["x", "SECRET\r\ny: z"] }),
      request(provider.origin, { method: "CONNECT" }),
      request("ftp://127.0.0.1"),
    ]) {
      const outcome = run(through, bad);
      expect(outcome.ends).toBe(0);
      await outcome.finished;
      expect(outcome.error).toMatchObject({ phase: "send", code: "INVALID_REQUEST" });
      expect(outcome.error?.message).not.toContain("SECRET");
    }
    expect(provider.requests).toHaveLength(1);
  });
});

describe("abort", () => {
  test("BH-18: before the head, in the body and while connecting the provider's socket closes at once, without a callback", async () => {
    const provider = await rawProvider((socket, { text }) => {
      if (text.includes("/body")) {
        socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n");
      }
    });
    const through = upstream();
    for (const path of ["/silent", "/body"]) {
      const before = provider.requests.length;
      const outcome = run(through, request(provider.origin, { path }));
      await comesTrue(() => provider.requests.length > before);
      if (path === "/body") {
        await comesTrue(() => outcome.chunks.length > 0);
      }
      const socket = provider.sockets.at(-1);
      outcome.exchange.abort();
      outcome.exchange.abort();
      outcome.exchange.resume();
      await comesTrue(() => socket?.destroyed === true);
      expect(outcome.ends).toBe(0);
    }
    const early = run(through, request(provider.origin));
    early.exchange.abort();
    expect(through.stats()).toMatchObject({ active: 0, connecting: 0, idle: 0, queued: 0, origins: 0 });
    expect(early.ends).toBe(0);
  });

  test("from within a callback nothing more is delivered", async () => {
    const provider = await rawProvider((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n1\r\nb\r\n0\r\n\r\n"),
    );
    const through = upstream();
    const inData = run(through, request(provider.origin), { data: (_chunk, exchange) => exchange.abort() });
    await comesTrue(() => through.stats().origins === 0 && inData.chunks.length > 0);
    expect(inData.chunks).toHaveLength(1);
    expect(inData.ends).toBe(0);
    const inHead = run(through, request(provider.origin), { head: (exchange) => exchange.abort() });
    await inHead.headed;
    await comesTrue(() => through.stats().origins === 0);
    expect(inHead.chunks).toEqual([]);
  });

  test("a request on a reused connection that is aborted before it is written leaves nothing behind", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("x")));
    const through = upstream();
    await exchanged(through, request(provider.origin));
    await comesTrue(() => through.stats().idle === 1);
    const outcome = run(through, request(provider.origin));
    outcome.exchange.abort();
    await comesTrue(() => provider.sockets[0]?.destroyed === true);
    expect(outcome.ends).toBe(0);
    expect(through.stats()).toMatchObject({ active: 0, idle: 0, resent: 0 });
    expect((await exchanged(through, request(provider.origin))).text).toBe("x");
  });
});

describe("close", () => {
  test("ends what runs with code CLOSED, refuses what comes, and leaves no socket", async () => {
    const provider = await rawProvider((socket, { text }) => {
      if (text.includes("/idle")) {
        socket.write(reply("x"));
      }
    });
    const through = createUpstream();
    await exchanged(through, request(provider.origin, { path: "/idle" }));
    const outcome = run(through, request(provider.origin));
    await comesTrue(() => provider.requests.length === 2);
    await through.close();
    expect(outcome.error).toMatchObject({ phase: "before_headers", code: "CLOSED" });
    await comesTrue(() => provider.sockets.every((socket) => socket.destroyed));
    const late = await exchanged(through, request(provider.origin));
    expect(late.error).toMatchObject({ phase: "connect", code: "CLOSED" });
    expect(through.stats()).toMatchObject({ origins: 0, active: 0, idle: 0 });
  });
});
