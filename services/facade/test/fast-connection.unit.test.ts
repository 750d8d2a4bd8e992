import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { expect, test } from "vitest";
import type { Exchange } from "../src/exchange.ts";
import { FastConnection, KEEP_ALIVE_BUFFER_MS } from "../src/fast-connection.ts";
import { serverLimits } from "../src/limits.ts";
import { type PlainRequest, readPlainRequest } from "../src/plain-request.ts";
import type { ResponseWriter } from "../src/ports.ts";

const HOUR = 3_600_000;
const LIMITS = serverLimits(1000);

class FakeSocket extends EventEmitter {
  readonly written: string[] = [];
  writable = true;
  destroyed = false;
  paused = false;
  writableLength = 0;
  readonly writableNeedDrain = false;

  setTimeout(): void {}
  write(bytes: string | Uint8Array): boolean {
    this.written.push(Buffer.from(bytes as string, "latin1").toString("latin1"));
    return true;
  }
  pause(): void {
    this.paused = true;
  }
  isPaused(): boolean {
    return this.paused;
  }
  resume(): void {
    this.paused = false;
  }
  end(): void {
    this.writable = false;
  }
  destroySoon(): void {
    this.end();
  }
  destroy(): void {
    this.writable = false;
    this.destroyed = true;
  }
}

interface Rig {
  readonly socket: FakeSocket;
  readonly connection: FastConnection;
  readonly served: PlainRequest[];
  readonly bodies: string[];
  readonly handedOver: string[];
  readonly broken: [code: string, open: boolean][];
  writer: ResponseWriter | undefined;
  send(text: string): void;
  answer(): Promise<void>;
}

function rig(): Rig {
  const socket = new FakeSocket();
  const exchange = {
    answer: { drained() {} },
    onData: (piece: Buffer) => void self.bodies.push(piece.toString()),
    onEnd: () => void self.bodies.push("."),
    onClose() {},
    onTimeout() {},
  } as unknown as Exchange;
  const self: Rig = {
    socket,
    connection: new FastConnection(socket as unknown as Socket, {
      maxBodyBytes: 1000,
      limits: LIMITS,
      nativePaths: () => NATIVE,
      serve(source, writer, request) {
        self.served.push(request);
        self.writer = writer;
        source.attach(exchange);
      },
      handOver: (_socket, seen) => void self.handedOver.push(seen.toString("latin1")),
      broken: (code, _socket, open) => void self.broken.push([code, open !== undefined]),
      onLeft() {},
    }),
    served: [],
    bodies: [],
    handedOver: [],
    broken: [],
    writer: undefined,
    send: (text) => void socket.emit("data", Buffer.from(text, "latin1")),
    async answer() {
      self.writer?.putHead(200, ["content-length", "2"]);
      self.writer?.finish([Buffer.from("ok")], 2);
      await new Promise<void>((resolve) => setImmediate(resolve));
    },
  };
  return self;
}

const HEAD = "POST /v1/messages HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\n";

test("plain requests stay, one after the other, cut anywhere; each answer is one write", async () => {
  const r = rig();
  for (const [at, cut] of [0, 10, HEAD.length, HEAD.length + 2].entries()) {
    const text = `${HEAD}body`;
    if (cut > 0) r.send(text.slice(0, cut));
    r.send(text.slice(cut));
    expect([r.served.length, r.bodies.join("")]).toEqual([at + 1, "body."]);
    await r.answer();
    expect(r.socket.written).toHaveLength(at + 1);
    r.bodies.length = 0;
  }
  expect(r.socket.written[0]).toMatch(
    /^HTTP\/1\.1 200 OK\r\ncontent-length: 2\r\nDate: [^\r]+ GMT\r\nConnection: keep-alive\r\nKeep-Alive: timeout=75\r\n\r\nok$/,
  );
  expect(r.handedOver).toEqual([]);
});

test("a request that comes while another is answered waits its turn; more than fits stops the reading", async () => {
  const r = rig();
  r.send(`${HEAD}body`);
  r.send(`${HEAD}next`);
  expect(r.served).toHaveLength(1);
  await r.answer();
  expect([r.served.length, r.bodies.join("")]).toEqual([2, "body.next."]);
  r.send("x".repeat(2 * 1024 * 1024));
  expect(r.socket.paused).toBe(true);
  await r.answer();
  expect([r.socket.paused, r.handedOver[0]?.length]).toEqual([false, 2 * 1024 * 1024]);
});

test("the first request that is not plain goes on with all its bytes, and nothing more is read here", () => {
  const r = rig();
  const text = "POST /v1/messages HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
  r.send(text.slice(0, 30));
  r.send(text.slice(30));
  r.send(HEAD);
  expect([r.handedOver, r.served]).toEqual([[text], []]);
  expect(r.socket.eventNames()).toEqual([]);
});

test.each([
  ["a bare LF", "GET /v1/models HTTP/1.1\r\nHost: h\nx"],
  ["a bad line", "GET /v1/models HTTP/1.1\r\nno header\r\nx"],
  ["requests together", `${HEAD}body${HEAD}body`],
  ["no HTTP", "hello\r\n"],
])("%s is handed over at once", (_name, text) => {
  const r = rig();
  r.send(text);
  expect(r.handedOver).toEqual([text]);
});

test("a head in many reads, and one that does not end, is handed over", () => {
  const dripped = rig();
  for (const byte of HEAD.slice(0, 4)) dripped.send(byte);
  expect(dripped.handedOver).toEqual(["POST"]);
  const slow = rig();
  slow.send("POST");
  const now = performance.now();
  slow.connection.sweep(now, now - HOUR);
  expect(slow.handedOver).toEqual([]);
  slow.connection.sweep(now + 1000, now);
  expect(slow.handedOver).toEqual(["POST"]);
});

test("BH-40: an idle connection is kept as long as the answer tells and the buffer", async () => {
  const r = rig();
  r.send(`${HEAD}body`);
  await r.answer();
  const idle = LIMITS.keepAliveTimeoutMs + KEEP_ALIVE_BUFFER_MS;
  r.connection.sweep(performance.now() + idle - 1000, 0);
  expect(r.socket.destroyed).toBe(false);
  r.connection.sweep(performance.now() + idle + 1, 0);
  expect(r.socket.destroyed).toBe(true);
});

test("a first request that never begins, and a body that never ends, are bounded; an answer that is late is not", () => {
  const fresh = rig();
  fresh.connection.sweep(performance.now() + LIMITS.headersTimeoutMs + 1, 0);
  expect(fresh.broken).toEqual([["ERR_HTTP_REQUEST_TIMEOUT", false]]);
  const slow = rig();
  slow.send(`${HEAD}bo`);
  slow.connection.sweep(performance.now() + LIMITS.requestTimeoutMs - 1000, 0);
  expect(slow.broken).toEqual([]);
  slow.connection.sweep(performance.now() + LIMITS.requestTimeoutMs + 1, 0);
  expect(slow.broken).toEqual([["ERR_HTTP_REQUEST_TIMEOUT", true]]);
  const late = rig();
  late.send(`${HEAD}body`);
  late.connection.sweep(performance.now() + HOUR, 0);
  expect([late.broken, late.socket.destroyed]).toEqual([[], false]);
});

test("a caller that ends within a request is told so; one that ends elsewhere is let go", async () => {
  for (const text of ["POST", `${HEAD}bo`]) {
    const r = rig();
    r.send(text);
    r.socket.emit("end");
    expect(r.broken).toEqual([["HPE_INVALID_EOF_STATE", text !== "POST"]]);
  }
  const r = rig();
  r.send(`${HEAD}body`);
  await r.answer();
  r.socket.emit("end");
  expect([r.broken, r.socket.writable]).toEqual([[], false]);
});

test("an answer that goes out before its request's body ends keeps the connection for the next", async () => {
  const r = rig();
  r.send(`${HEAD}bo`);
  await r.answer();
  r.send("dy");
  r.send(`${HEAD}next`);
  expect(r.served).toHaveLength(2);
});

test("a head that could be read as two is not written", () => {
  const r = rig();
  r.send(`${HEAD}body`);
  for (const bad of ["a\r\nb: c", "a\nb", "a\0", "\u4f60"]) {
    expect(r.writer?.putHead(200, ["x", bad])).toBe(false);
    expect(r.writer?.putHead(200, [bad, "x"])).toBe(false);
  }
  expect(r.writer?.headersSent).toBe(false);
});

const NATIVE = new Set(["/v1/native"]);

const readPlain = (text: string): PlainRequest | undefined => readPlainRequest(text, 1000, () => NATIVE);

test.each([
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 1000",
  "POST /v1/responses/?a=b HTTP/1.1\r\nhost: h\r\nconnection: Keep-Alive\r\ncontent-length: 0",
  "GET /v1/models HTTP/1.1\r\nhost: h",
  "HEAD /v1/models/a HTTP/1.1\r\nhost: h",
  "POST /v1/native HTTP/1.1\r\nhost: h\r\ncontent-encoding: gzip\r\ncontent-length: 5",
])("plain: %j", (text) => {
  expect(readPlain(text)).toBeDefined();
});

test.each([
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 1001",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h",
  "POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\nhost: h\r\ncontent-length: 2",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\ncontent-length: 2",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\ntransfer-encoding: identity",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\nexpect: 100-continue",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\nupgrade: h2c",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\nconnection: close",
  "POST /v1/chat/completions HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\nproxy-connection: close",
  "GET /v1/chat/completions HTTP/1.1\r\nhost: h",
  "PUT /v1/native HTTP/1.1\r\nhost: h\r\ncontent-length: 5",
  "OPTIONS /v1/native HTTP/1.1\r\nhost: h",
  "GET /nothing HTTP/1.1\r\nhost: h",
])("not plain: %j", (text) => {
  expect(readPlain(text)).toBeUndefined();
});

test("what comes after a connection's last words goes to nobody", () => {
  const one = rig();
  one.send("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\n");
  one.socket.end();
  one.connection.sweep(performance.now() + HOUR, performance.now() + 1);
  one.send("Content-Length: 2\r\n\r\n{}");
  expect([one.served, one.handedOver, one.broken]).toEqual([[], [], []]);
});

test("P7: what comes ahead is held in a bounded number of pieces", () => {
  const one = rig();
  one.send("POST /v1/chat/completions HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}");
  for (let at = 0; at < 256; at += 1) one.send("G");
  expect(one.socket.paused).toBe(false);
  one.send("E");
  expect(one.socket.paused).toBe(true);
});
