// Compares the CPU cost of an exchange with a bare undici Pool's dispatch: node packages/upstream/test/exchange.bench.ts
import { spawn } from "node:child_process";
import { once } from "node:events";
import { type Dispatcher, Pool } from "undici";
import { createUpstream, type ExchangeRequest } from "../src/index.ts";

const ROUNDS = 9;
const EXCHANGES = 4000;
const CONNECTIONS = 32;

const PROVIDER = `
  const body = JSON.stringify({ text: "x".repeat(560) });
  const server = require("node:http").createServer((incoming, response) => {
    incoming.resume();
    incoming.on("end", () => {
      response.writeHead(200, { "content-type": "application/json", "x-request-id": "r", "content-length": body.length });
      response.end(body);
    });
  });
  server.keepAliveTimeout = 60_000;
  server.listen(0, "127.0.0.1", () => console.log(server.address().port));
`;

const body = Buffer.alloc(1024, "x");
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

type Send = (done: () => void) => void;

function throughPool(origin: string): Send {
  const pool = new Pool(origin, { connections: CONNECTIONS, headersTimeout: 0, bodyTimeout: 0 });
  return (done) => {
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: () => undefined,
      onResponseEnd: () => done(),
      onResponseError: (_controller, error) => {
        throw error;
      },
    };
    pool.dispatch({ method: "POST", path: "/v1/x", headers, body }, handler);
  };
}

function throughUpstream(origin: string): Send {
  const through = createUpstream({ maxConnectionsPerOrigin: CONNECTIONS });
  const clocks = { connectTimeoutMs: 10_000, headersTimeoutMs: 60_000, idleTimeoutMs: 300_000 };
  const what: ExchangeRequest = { method: "POST", origin, path: "/v1/x", headers, body, ...clocks };
  return (done) => {
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

/** CPU and wall microseconds an exchange, with `width` of them at a time. */
function round(send: Send, width: number): Promise<{ cpu: number; wall: number }> {
  return new Promise((resolve) => {
    const cpu = process.cpuUsage();
    const wall = performance.now();
    let started = 0;
    let ended = 0;
    const next = (): void => {
      if (started < EXCHANGES) {
        started += 1;
        send(() => {
          ended += 1;
          if (ended === EXCHANGES) {
            const used = process.cpuUsage(cpu);
            const spent = (performance.now() - wall) * 1000;
            resolve({ cpu: (used.user + used.system) / EXCHANGES, wall: spent / EXCHANGES });
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

for (const width of [1, CONNECTIONS]) {
  const cpu = { pool: [] as number[], upstream: [] as number[] };
  const wall = { pool: [] as number[], upstream: [] as number[] };
  for (let i = -2; i < ROUNDS; i++) {
    for (const name of ["pool", "upstream"] as const) {
      const got = await round(variants[name], width);
      if (i >= 0) {
        cpu[name].push(got.cpu);
        wall[name].push(got.wall);
      }
    }
  }
  for (const [what, of] of Object.entries({ cpu, wall })) {
    const [pool, upstream] = [median(of.pool), median(of.upstream)];
    const ratio = (upstream / pool).toFixed(2);
    console.log(
      `${width} at a time, ${what}: pool ${pool.toFixed(1)} µs, upstream ${upstream.toFixed(1)} µs, ratio ${ratio}`,
    );
  }
}
provider.kill();
process.exit();
