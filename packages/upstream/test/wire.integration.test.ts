import { createHash, randomBytes } from "node:crypto";
import { comesTrue } from "@switchyard/testkit";
import { describe, expect, test } from "vitest";
import { exchanged, rawProvider, reply, request, run, upstream } from "./support.ts";

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";

describe("the socket is no longer trusted", () => {
  test("after bytes that nobody asked for: they answer no later request", async () => {
    const forged = reply("forged", "x-forged: 1");
    const provider = await rawProvider((socket, { connection }) =>
      socket.write(connection === 1 ? Buffer.concat([reply("ok"), forged]) : reply("real")),
    );
    const through = upstream();
    expect((await exchanged(through, request(provider.origin))).text).toBe("ok");
    expect((await exchanged(through, request(provider.origin))).text).toBe("real");
    expect(provider.sockets).toHaveLength(2);
  });

  test("after bytes that come while it is idle", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("ok")));
    const through = upstream();
    await exchanged(through, request(provider.origin));
    expect(through.stats().idle).toBe(1);
    provider.sockets[0]?.write(reply("forged"));
    await comesTrue(() => provider.sockets[0]?.destroyed === true);
    expect(through.stats()).toMatchObject({ idle: 0, origins: 0 });
    expect((await exchanged(through, request(provider.origin))).text).toBe("ok");
  });

  test.each([
    ["lengths that differ", "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nok"],
    ["a length beside chunks", `${CHUNKED.slice(0, -2)}Content-Length: 2\r\n\r\n0\r\n\r\n`],
    ["a bare LF", "HTTP/1.1 200 OK\r\nx: y\nz: a\r\n\r\n"],
  ])("after a head with %s, which is refused", async (_name, answer) => {
    const provider = await rawProvider((socket) => socket.write(answer));
    const through = upstream();
    const outcome = await exchanged(through, request(provider.origin));
    expect(outcome.error).toMatchObject({ phase: "before_headers", code: "MALFORMED_RESPONSE" });
    await comesTrue(() => provider.sockets[0]?.destroyed === true);
    expect(through.stats().origins).toBe(0);
  });

  test("after a head of more than 64 KiB", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("ok", `x: ${"y".repeat(70_000)}`)));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.error).toMatchObject({ phase: "before_headers", code: "HEAD_TOO_LARGE" });
  });

  test("after a broken chunk; what came before it is handed over", async () => {
    const provider = await rawProvider((socket) => socket.write(`${CHUNKED}2\r\nok\r\nzz\r\n`));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.text).toBe("ok");
    expect(outcome.error).toMatchObject({ phase: "body", code: "MALFORMED_RESPONSE" });
  });
});

describe("invariant 6: a pause", () => {
  test.each([
    ["a length", reply("held back")],
    ["chunks", Buffer.from(`${CHUNKED}4\r\nheld\r\n5\r\n back\r\n0\r\n\r\n`)],
    ["the end of the connection", Buffer.from("HTTP/1.1 200 OK\r\n\r\nheld back")],
  ])("at the head keeps a body by %s that came with it, past the provider's end", async (_name, answer) => {
    const provider = await rawProvider((socket) => socket.end(answer));
    const outcome = run(upstream(), request(provider.origin), { head: (exchange) => exchange.pause() });
    await outcome.headed;
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect([outcome.chunks.length, outcome.ends]).toEqual([0, 0]);
    outcome.exchange.resume();
    await outcome.finished;
    expect(outcome.error).toBeNull();
    expect(outcome.text).toBe("held back");
  });

  test("leaves the connection fit for the next exchange", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("ok")));
    const through = upstream();
    for (let i = 0; i < 3; i += 1) {
      const outcome = run(through, request(provider.origin), {
        data: (_chunk, exchange) => exchange.pause(),
      });
      await outcome.finished;
      expect(outcome.text).toBe("ok");
    }
    expect(provider.sockets).toHaveLength(1);
  });
});

describe("bodies of requests", () => {
  test.each([0, 1, 1000, 16_000, 16_384, 16_385, 200_000, 5_000_000])(
    "%i bytes arrive as they are",
    async (size) => {
      const body = randomBytes(size);
      const provider = await rawProvider((socket, { text }) => {
        const got = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1");
        socket.write(reply(createHash("sha256").update(got).digest("hex")));
      });
      const outcome = await exchanged(upstream(), request(provider.origin, { body }));
      expect(outcome.text).toBe(createHash("sha256").update(body).digest("hex"));
    },
  );

  test("pieces, small and large, arrive as one body", async () => {
    const body = [10, 0, 100_000, 3, 70_000, 5].map((size) => randomBytes(size));
    const whole = Buffer.concat(body);
    const provider = await rawProvider((socket, { text }) => {
      const got = Buffer.from(text.slice(text.indexOf("\r\n\r\n") + 4), "latin1");
      socket.write(reply(String(got.equals(whole))));
    });
    expect((await exchanged(upstream(), request(provider.origin, { body }))).text).toBe("true");
    expect(provider.requests[0]).toContain(`content-length: ${whole.length}\r\n`);
  });

  test("requests that differ in one header or their path are not taken for each other", async () => {
    const provider = await rawProvider((socket, { text }) => socket.write(reply(text)));
    const through = upstream();
    for (const [path, value] of [
      ["/a", "1"],
      ["/a", "2"],
      ["/b", "2"],
      ["/b", "2"],
    ] as const) {
      const what = request(provider.origin, {
        path,
        headers: ["x-a", value],
        body: Buffer.alloc(value.length * 3),
      });
      const { text } = await exchanged(through, what);
      expect(text.startsWith(`POST ${path} HTTP/1.1\r\n`)).toBe(true);
      expect(text).toContain(`x-a: ${value}\r\ncontent-length: 3\r\n\r\n`);
    }
  });

  test("without a body the length is said where one is usual", async () => {
    const provider = await rawProvider((socket, { text }) => socket.write(reply(text)));
    const through = upstream();
    const sent = async (method: string): Promise<string> =>
      (await exchanged(through, request(provider.origin, { method, body: null }))).text;
    expect(await sent("POST")).toContain("content-length: 0\r\n");
    expect(await sent("GET")).not.toContain("content-length");
  });
});
