import { createHash } from "node:crypto";
import type { Socket } from "node:net";
import {
  brotliCompressSync,
  createBrotliCompress,
  createDeflate,
  createGzip,
  createZstdCompress,
  deflateRawSync,
  deflateSync,
  gzipSync,
  zstdCompressSync,
} from "node:zlib";
import { comesTrue } from "@switchyard/testkit";
import { describe, expect, test } from "vitest";
import { cleanup, exchanged, header, rawProvider, reply, request, run, upstream } from "./support.ts";

const TEXT = JSON.stringify({ type: "error", error: { type: "not_found_error", message: "model: nope" } });

describe("BH-38: content codings", () => {
  test.each([
    ["gzip", gzipSync(TEXT)],
    ["X-GZip", gzipSync(TEXT)],
    ["br", brotliCompressSync(TEXT)],
    ["deflate", deflateSync(TEXT)],
    ["deflate", deflateRawSync(TEXT)],
    ["zstd", zstdCompressSync(TEXT)],
    ["gzip, br", brotliCompressSync(gzipSync(TEXT))],
    ["deflate, zstd, gzip", gzipSync(zstdCompressSync(deflateRawSync(TEXT)))],
  ])("%s is undone, and its headers with it", async (coding, body) => {
    const provider = await rawProvider((socket) => socket.write(reply(body, `Content-Encoding: ${coding}`)));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.error).toBeNull();
    expect(outcome.text).toBe(TEXT);
    expect(outcome.head?.headers).toEqual([]);
  });

  test("a coding that is unknown goes through untouched, with its headers", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("zzz", "Content-Encoding: zebra")));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.text).toBe("zzz");
    expect(header(outcome, "content-encoding")).toBe("zebra");
    expect(header(outcome, "content-length")).toBe("3");
  });

  test.each([
    ["gzip over a plain body", "gzip", Buffer.from(TEXT)],
    ["br over a plain body", "br", Buffer.from(TEXT)],
    ["a gzip body cut short", "gzip", gzipSync(TEXT).subarray(0, 40)],
    ["a br body cut short", "br", brotliCompressSync(TEXT).subarray(0, 40)],
    ["a zstd body cut short", "zstd", zstdCompressSync(TEXT).subarray(0, 40)],
    ["an inner layer that is damaged", "deflate, gzip", gzipSync(Buffer.from("{plain}"))],
  ])("%s is phase decode", async (_name, coding, body) => {
    const provider = await rawProvider((socket) => socket.write(reply(body, `Content-Encoding: ${coding}`)));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.error?.phase).toBe("decode");
    expect(outcome.ends).toBe(1);
  });

  test("an empty body is empty in any coding", async () => {
    const provider = await rawProvider((socket) => socket.write(reply("", "Content-Encoding: gzip, br")));
    const outcome = await exchanged(upstream(), request(provider.origin));
    expect(outcome.error).toBeNull();
    expect(outcome.chunks).toEqual([]);
  });

  test.each([
    ["gzip", () => createGzip()],
    ["br", () => createBrotliCompress()],
    ["deflate", () => createDeflate()],
    ["zstd", () => createZstdCompress()],
  ])(
    "%s: each event comes out when it was flushed, and what came before a cut comes out before the error",
    async (coding, create) => {
      const provider = await rawProvider((socket) => {
        socket.write(`HTTP/1.1 200 OK\r\nContent-Encoding: ${coding}\r\nTransfer-Encoding: chunked\r\n\r\n`);
        compressor.on("data", (chunk: Buffer) => {
          socket.write(`${chunk.length.toString(16)}\r\n`);
          socket.write(chunk);
          socket.write("\r\n");
        });
      });
      const compressor = create();
      cleanup(() => compressor.destroy());
      const outcome = run(upstream(), request(provider.origin));
      await outcome.headed;
      let sent = "";
      for (let i = 0; i < 4; i++) {
        const event = `data: {"i":${i}}\n\n`;
        sent += event;
        compressor.write(event);
        compressor.flush();
        await comesTrue(() => outcome.text === sent);
      }
      provider.sockets[0]?.end();
      await outcome.finished;
      expect(outcome.error?.phase).toBe("body");
      expect(outcome.text).toBe(sent);
    },
  );
});

const CHUNK = Buffer.alloc(64 * 1024, "x");
const TOTAL = 200 * 1024 * 1024;

/** Sends 200 MiB as fast as the socket takes them, in the given form. */
function flood(socket: Socket, head: string, chunk: Uint8Array, count: number): void {
  socket.write(head);
  let left = count;
  const more = (): void => {
    while (left > 0) {
      left -= 1;
      if (!socket.write(chunk)) {
        socket.once("drain", more);
        return;
      }
    }
    socket.end();
  };
  more();
}

describe("BH-42, P7: backpressure", () => {
  test("a paused reader stops the provider after a bounded number of bytes; reading on, all arrives in order", async () => {
    const provider = await rawProvider((socket) =>
      flood(socket, `HTTP/1.1 200 OK\r\nContent-Length: ${TOTAL}\r\n\r\n`, CHUNK, TOTAL / CHUNK.length),
    );
    let received = 0;
    const hash = createHash("sha256");
    const finished = Promise.withResolvers<void>();
    let paused = false;
    const exchange = upstream().send(request(provider.origin), {
      onHead: () => exchange.pause(),
      onData: (chunk) => {
        received += chunk.length;
        hash.update(chunk);
        // Pauses again and again on the way, each for a turn.
        if (received % 7 === 0 && !paused) {
          paused = true;
          exchange.pause();
          setImmediate(() => {
            paused = false;
            exchange.resume();
          });
        }
      },
      onEnd: finished.resolve,
      onError: finished.reject,
    });
    await comesTrue(() => provider.sockets.length === 1);
    const socket = provider.sockets[0] as Socket;
    const accepted = (): number => socket.bytesWritten - socket.writableLength;
    await settled(accepted);
    expect(received).toBe(0);
    expect(accepted()).toBeLessThan(4 * 1024 * 1024);
    exchange.resume();
    await finished.promise;
    expect(received).toBe(TOTAL);
    const whole = createHash("sha256");
    for (let i = 0; i < TOTAL / CHUNK.length; i++) {
      whole.update(CHUNK);
    }
    expect(hash.digest("hex")).toBe(whole.digest("hex"));
  });

  test("a pause within the body, and in a decoded body, holds what was read and no more", async () => {
    const bomb = gzipSync(Buffer.alloc(64 * 1024 * 1024));
    const provider = await rawProvider((socket) => socket.write(reply(bomb, "Content-Encoding: gzip")));
    const outcome = run(upstream(), request(provider.origin), {
      data: (_chunk, exchange) => {
        if (outcome.chunks.length === 3) {
          exchange.pause();
        }
      },
    });
    const size = (): number => outcome.chunks.reduce((sum, chunk) => sum + chunk.length, 0);
    await comesTrue(() => outcome.chunks.length >= 3);
    await settled(size);
    expect(size()).toBeLessThan(1024 * 1024);
    expect(outcome.ends).toBe(0);
    outcome.exchange.resume();
    await outcome.finished;
    expect(outcome.error).toBeNull();
    expect(size()).toBe(64 * 1024 * 1024);
  });

  test("aborting a paused stream closes the provider's socket", async () => {
    const provider = await rawProvider((socket) =>
      flood(socket, `HTTP/1.1 200 OK\r\nContent-Length: ${TOTAL}\r\n\r\n`, CHUNK, TOTAL / CHUNK.length),
    );
    const outcome = run(upstream(), request(provider.origin), { head: (exchange) => exchange.pause() });
    await outcome.headed;
    outcome.exchange.abort();
    await comesTrue(() => provider.sockets[0]?.destroyed === true);
    expect(outcome.ends).toBe(0);
  });

  test("a resume within the callback that paused, and one from another exchange's callback, both take effect", async () => {
    const provider = await rawProvider((socket) => socket.write(reply(CHUNK)));
    const through = upstream();
    const held = run(through, request(provider.origin), { head: (exchange) => exchange.pause() });
    await held.headed;
    const other = run(through, request(provider.origin), {
      data: (_chunk, exchange) => {
        exchange.pause();
        held.exchange.resume();
        exchange.resume();
      },
    });
    await Promise.all([held.finished, other.finished]);
    expect(held.error).toBeNull();
    expect(held.text.length).toBe(CHUNK.length);
    expect(other.text.length).toBe(CHUNK.length);
  });
});

/** Waits until a count has not moved for a while. */
async function settled(count: () => number): Promise<void> {
  let last = -1;
  let quiet = 0;
  await comesTrue(() => {
    quiet = count() === last ? quiet + 1 : 0;
    last = count();
    return quiet > 100;
  }, 10_000);
}
