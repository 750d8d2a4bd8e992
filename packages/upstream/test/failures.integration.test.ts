import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { type AddressInfo, connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServer as createTlsServer } from "node:tls";
import { comesTrue } from "@switchyard/testkit";
import { beforeAll, describe, expect, test } from "vitest";
import type { UpstreamClock } from "../src/index.ts";
import { cleanup, exchanged, rawProvider, reply, request, run, upstream } from "./support.ts";

const OPEN = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n";

const NEVER_ACCEPTS = `
  const server = require("node:net").createServer();
  server.listen({ port: 0, host: "127.0.0.1", backlog: 1 }, () => {
    require("node:fs").writeSync(1, String(server.address().port));
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
  });
`;

/** The port of a listener whose process never accepts and whose backlog is full, so that further SYNs are dropped. */
async function fullBacklog(): Promise<number> {
  const child = spawn(process.execPath, ["-e", NEVER_ACCEPTS], { stdio: ["ignore", "pipe", "ignore"] });
  cleanup(() => child.kill("SIGKILL"));
  const [printed] = (await once(child.stdout, "data")) as [Buffer];
  const port = Number(printed);
  for (let i = 0; i < 6; i++) {
    const filler = connect({ port, host: "127.0.0.1" }).on("error", () => undefined);
    cleanup(() => filler.destroy());
  }
  return port;
}

describe("E1: unreachable", () => {
  test("a refused connection is phase connect", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, "close");
    const outcome = await exchanged(upstream(), request(`http://127.0.0.1:${port}`));
    expect(outcome.error).toMatchObject({ phase: "connect", code: "ECONNREFUSED" });
  });

  test("a name that does not resolve is phase dns", async () => {
    const through = upstream();
    const outcome = await exchanged(through, request("http://no-such-host.invalid"));
    expect(outcome.error?.phase).toBe("dns");
    expect(outcome.error?.message).not.toContain("SECRET");
    expect(through.stats().origins).toBe(0);
  });

  test("a reset before headers on a fresh connection is an error, sent once (BH-40 variant Y)", async () => {
    const provider = await rawProvider((socket) => socket.resetAndDestroy());
    const through = upstream();
    const outcome = await exchanged(through, request(provider.origin));
    expect(outcome.error).toMatchObject({ phase: "before_headers", code: "ECONNRESET" });
    expect(provider.requests).toHaveLength(1);
    expect(through.stats().resent).toBe(0);
  });

  test("an end before headers, and an answer that is not HTTP, are phase before_headers", async () => {
    const closing = await rawProvider((socket) => socket.end());
    expect((await exchanged(upstream(), request(closing.origin))).error?.phase).toBe("before_headers");
    const babbling = await rawProvider((socket) => socket.end("220 smtp ready\r\n"));
    expect((await exchanged(upstream(), request(babbling.origin))).error?.phase).toBe("before_headers");
  });
});

describe("E5: clocks", () => {
  test("BH-41 leg 7: a TCP handshake that never completes ends at the connect time-out", async () => {
    const port = await fullBacklog();
    const outcome = await exchanged(
      upstream(),
      request(`http://127.0.0.1:${port}`, { connectTimeoutMs: 600, headersTimeoutMs: 8000 }),
    );
    expect(outcome.error).toMatchObject({ phase: "connect", code: "CONNECT_TIMEOUT" });
    expect(outcome.ms).toBeGreaterThan(590);
    expect(outcome.ms).toBeLessThan(5_000);
  });

  test("a TLS handshake that never completes ends at the connect time-out", async () => {
    const server = createServer((socket) => cleanup(() => socket.destroy())).listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanup(() => server.close());
    const { port } = server.address() as AddressInfo;
    const outcome = await exchanged(
      upstream(),
      request(`https://127.0.0.1:${port}`, { connectTimeoutMs: 200 }),
    );
    expect(outcome.error).toMatchObject({ phase: "connect", code: "CONNECT_TIMEOUT" });
  });

  test("a provider that accepts and goes quiet ends at headers_timeout, its connection closed", async () => {
    const provider = await rawProvider(() => undefined);
    const through = upstream();
    const outcome = await exchanged(through, request(provider.origin, { headersTimeoutMs: 200 }));
    expect(outcome.error?.phase).toBe("headers_timeout");
    expect(outcome.ms).toBeGreaterThan(195);
    await comesTrue(() => provider.sockets[0]?.destroyed === true);
    expect(through.stats()).toMatchObject({ active: 0, origins: 0 });
  });

  test("headers_timeout never cuts a running stream, and idle_timeout only a silent one", async () => {
    const provider = await rawProvider((socket) => {
      socket.write(OPEN);
      let left = 6;
      const tick = setInterval(() => {
        left -= 1;
        socket.write("1\r\nx\r\n");
        if (left === 0) {
          clearInterval(tick);
        }
      }, 80);
      cleanup(() => clearInterval(tick));
    });
    const outcome = await exchanged(
      upstream(),
      request(provider.origin, { headersTimeoutMs: 150, idleTimeoutMs: 300 }),
    );
    expect(outcome.text).toBe("okxxxxxx");
    expect(outcome.error?.phase).toBe("idle_timeout");
    expect(outcome.ms).toBeGreaterThan(6 * 80 + 290);
  });

  test("idle clock: a caller that has paused is not the provider's silence", async () => {
    const provider = await rawProvider((socket) => socket.write(OPEN));
    const outcome = run(upstream(), request(provider.origin, { idleTimeoutMs: 100 }), {
      data: (_chunk, exchange) => exchange.pause(),
    });
    await comesTrue(() => outcome.chunks.length > 0);
    await new Promise((resolve) => setTimeout(resolve, 350));
    expect(outcome.ends).toBe(0);
    outcome.exchange.resume();
    await outcome.finished;
    expect(outcome.error?.phase).toBe("idle_timeout");
  });

  test("a stream arms one timer, not one for each chunk, and leaves none", async () => {
    const provider = await rawProvider((socket) => {
      socket.write(OPEN);
      let left = 50;
      const more = (): void => {
        left -= 1;
        socket.write(left > 0 ? "1\r\nx\r\n" : "0\r\n\r\n", () => left > 0 && setImmediate(more));
      };
      more();
    });
    const live = new Set<object>();
    let armed = 0;
    const clock: UpstreamClock = {
      now: () => performance.now(),
      setTimeout: (fire, ms, argument) => {
        armed += 1;
        const timer = setTimeout(fire, ms, argument);
        live.add(timer);
        return timer;
      },
      clearTimeout: (timer) => {
        live.delete(timer);
        clearTimeout(timer as NodeJS.Timeout);
      },
    };
    const through = upstream({ clock });
    const quick = { headersTimeoutMs: 60_000, idleTimeoutMs: 30_000 };
    const outcome = await exchanged(through, request(provider.origin, quick));
    expect(outcome.text).toHaveLength(2 + 49);
    // One to connect, one for the headers, and that again for the shorter idle time.
    expect(armed).toBe(3);
    expect(live.size).toBe(0);
  });

  test("0 switches every clock off", async () => {
    const provider = await rawProvider((socket) => {
      const timer = setTimeout(() => socket.write(reply("late")), 150);
      cleanup(() => clearTimeout(timer));
    });
    const off = { connectTimeoutMs: 0, headersTimeoutMs: 0, idleTimeoutMs: 0 };
    expect((await exchanged(upstream(), request(provider.origin, off))).text).toBe("late");
  });
});

describe("a body that is cut", () => {
  test.each([
    ["a chunked body without its last chunk", OPEN, false],
    ["a body shorter than its length", "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok", false],
    ["a reset", OPEN, true],
  ])("%s is phase body, after what came", async (_name, answer, reset) => {
    const provider = await rawProvider((socket) => {
      socket.write(answer, () => {
        const timer = setTimeout(() => (reset ? socket.resetAndDestroy() : socket.end()), 30);
        cleanup(() => clearTimeout(timer));
      });
    });
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.text).toBe("ok");
    expect(outcome.error?.phase).toBe("body");
    expect(outcome.ends).toBe(1);
    expect(provider.requests).toHaveLength(1);
  });

  test("a body without length that ends with the connection is whole", async () => {
    const provider = await rawProvider((socket) => socket.end("HTTP/1.1 200 OK\r\n\r\nall of it"));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.error).toBeNull();
    expect(outcome.text).toBe("all of it");
  });
});

describe("TLS", () => {
  let key = "";
  let cert = "";

  beforeAll(() => {
    const folder = mkdtempSync(join(tmpdir(), "upstream-"));
    const at = (name: string): string => join(folder, name);
    execFileSync(
      "openssl",
      [
        "req",
        "-x509",
        "-newkey",
        "ec",
        "-pkeyopt",
        "ec_paramgen_curve:prime256v1",
        "-nodes",
        "-days",
        "2",
      ].concat(
        ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"],
        ["-keyout", at("key"), "-out", at("cert")],
      ),
      { stdio: "ignore" },
    );
    key = readFileSync(at("key"), "utf8");
    cert = readFileSync(at("cert"), "utf8");
    rmSync(folder, { recursive: true });
  });

  const secureProvider = async (): Promise<string> => {
    const server = createTlsServer({ key, cert }, (socket) => {
      socket.on("error", () => undefined);
      socket.on("data", () => socket.write(reply("secret")));
    }).listen(0, "127.0.0.1");
    server.on("tlsClientError", () => undefined);
    await once(server, "listening");
    cleanup(() => server.close());
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  };

  test("a certificate that nobody vouches for is phase tls", async () => {
    const outcome = await exchanged(upstream(), request(await secureProvider()));
    expect(outcome.error).toMatchObject({ phase: "tls", code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  });

  test("a plain server behind an https origin is phase tls", async () => {
    const plain = createServer((socket) => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")).listen(
      0,
      "127.0.0.1",
    );
    await once(plain, "listening");
    cleanup(() => plain.close());
    const { port } = plain.address() as AddressInfo;
    expect((await exchanged(upstream(), request(`https://127.0.0.1:${port}`))).error?.phase).toBe("tls");
  });

  test("with its authority given, exchanges work and share the connection", async () => {
    const through = upstream({ tls: { ca: cert } });
    const origin = await secureProvider();
    expect((await exchanged(through, request(origin))).text).toBe("secret");
    expect((await exchanged(through, request(origin))).text).toBe("secret");
    expect(through.stats()).toMatchObject({ connectionsOpened: 1 });
  });

  test("invariant 6: a pause keeps what came, past the provider's end", async () => {
    const server = createTlsServer({ key, cert }, (socket) => {
      socket.on("error", () => undefined);
      socket.once("data", () => {
        socket.write(`${OPEN}4\r\nheld\r\n`);
        socket.end("5\r\n back\r\n0\r\n\r\n");
      });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    cleanup(() => server.close());
    const origin = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    let pauses = 0;
    const pause = (exchange: { pause(): void; resume(): void }): void => {
      pauses += 1;
      exchange.pause();
      setTimeout(() => exchange.resume(), 20);
    };
    const outcome = run(upstream({ tls: { ca: cert } }), request(origin), {
      head: pause,
      data: (_chunk, exchange) => pause(exchange),
    });
    await outcome.finished;
    expect(outcome.error).toBeNull();
    expect(outcome.text).toBe("okheld back");
    expect(pauses).toBeGreaterThan(1);
  });
});
