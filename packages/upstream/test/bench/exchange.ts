// Compares the CPU cost of exchanges with a bare undici Pool's dispatch: node packages/upstream/test/bench/exchange.ts
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Dispatcher, Pool } from "undici";
import { createUpstream, type ExchangeRequest } from "../../src/index.ts";

const ROUNDS = 9;
const CONNECTIONS = 32;

/** Answers over bare sockets, so that it is never what limits; `/s` is a stream of 100 events, each written by itself. */
const PROVIDER = `
  const { createServer } = require("node:net");
  const head = "HTTP/1.1 200 OK\\r\\ncontent-type: application/json\\r\\nx-request-id: r\\r\\n" +
    "date: Mon, 30 Nov 2026 18:45:57 GMT\\r\\nconnection: keep-alive\\r\\nkeep-alive: timeout=60\\r\\n";
  const body = JSON.stringify({ text: "x".repeat(560) });
  const whole = Buffer.from(head + "content-length: " + body.length + "\\r\\n\\r\\n" + body);
  const open = Buffer.from(head + "transfer-encoding: chunked\\r\\n\\r\\n");
  const event = "data: " + "x".repeat(150) + "\\n\\n";
  const chunk = Buffer.from(event.length.toString(16) + "\\r\\n" + event + "\\r\\n");
  const server = createServer({ noDelay: true }, (socket) => {
    let left = 0;
    const stream = (n) => {
      socket.write(n > 0 ? chunk : "0\\r\\n\\r\\n");
      if (n > 0) setImmediate(stream, n - 1);
    };
    socket.on("error", () => {});
    socket.on("data", (bytes) => {
      if (left === 0) {
        const text = bytes.toString("latin1");
        const end = text.indexOf("\\r\\n\\r\\n") + 4;
        socket.path = text.slice(5, 7);
        left = end + Number(/content-length: (\\d+)/.exec(text)[1]);
      }
      left -= bytes.length;
      if (left > 0) return;
      if (socket.path === "/s") { socket.write(open); stream(100); } else socket.write(whole);
    });
  });
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

const headers = [
  "content-type",
  "application/json",
  "authorization",
  "Bearer k",
  "accept",
  "*/*",
  "user-agent",
  "b",
];

/** Exchanges a round, by what they carry. */
const LOADS = {
  "chat of 1 KB": { path: "/x", body: Buffer.alloc(1024, "x"), exchanges: 4000 },
  "stream of 100 chunks": { path: "/s", body: Buffer.alloc(1024, "x"), exchanges: 300 },
  "prompt of 200 KB": { path: "/x", body: Buffer.alloc(200 * 1024, "x"), exchanges: 1000 },
};
type Load = (typeof LOADS)[keyof typeof LOADS];

type Send = (load: Load, done: () => void) => void;

function throughPool(origin: string): Send {
  const pool = new Pool(origin, { connections: CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 });
  return ({ path, body }, done) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => done(),
      onResponseError: (_controller, error) => {
        throw error;
      },
    };
    pool.dispatch({ method: "POST", path, headers, body }, handler);
  };
}

function throughUpstream(origin: string): Send {
  const through = createUpstream({ maxConnectionsPerOrigin: CONNECTIONS });
  const clocks = { connectTimeoutMs: 10_000, headersTimeoutMs: 60_000, idleTimeoutMs: 300_000 };
  return ({ path, body }, done) => {
    const what: ExchangeRequest = { method: "POST", origin, path, headers, body, ...clocks };
    through.send(what, {
      onHead: () => undefined,
      onData: () => undefined,
      onEnd: done,
      onError: (error) => {
        throw error;
      },
    });
  };
}

/** CPU microseconds an exchange, with `width` of them at a time. */
function round(send: Send, load: Load, width: number): Promise<number> {
  return new Promise((resolve) => {
    const cpu = process.cpuUsage();
    let started = 0;
    let ended = 0;
    const next = (): void => {
      if (started < load.exchanges) {
        started += 1;
        send(load, () => {
          ended += 1;
          if (ended === load.exchanges) {
            const used = process.cpuUsage(cpu);
            resolve((used.user + used.system) / load.exchanges);
          } else {
            next();
          }
        });
      }
    };
    for (let i = 0; i < width; i++) {
      next();
    }
  });
}

const median = (values: number[]): number => values.toSorted((a, b) => a - b)[values.length >> 1] ?? 0;

const provider = spawn(process.execPath, ["-e", PROVIDER], { stdio: ["ignore", "pipe", "inherit"] });
const [port] = (await once(provider.stdout, "data")) as [Buffer];
const origin = `http://127.0.0.1:${Number(port)}`;
const variants = { pool: throughPool(origin), upstream: throughUpstream(origin) };

for (const [name, load] of Object.entries(LOADS)) {
  for (const width of [1, CONNECTIONS]) {
    const cpu = { pool: [] as number[], upstream: [] as number[] };
    for (let i = -2; i < ROUNDS; i++) {
      for (const variant of ["pool", "upstream"] as const) {
        const got = await round(variants[variant], load, width);
        if (i >= 0) {
          cpu[variant].push(got);
        }
      }
    }
    const [pool, upstream] = [median(cpu.pool), median(cpu.upstream)];
    const ratio = (upstream / pool).toFixed(2);
    console.log(
      `${name}, ${width} at a time: pool ${pool.toFixed(1)} µs, upstream ${upstream.toFixed(1)} µs, ratio ${ratio}`,
    );
  }
}
provider.kill();
process.exit();
