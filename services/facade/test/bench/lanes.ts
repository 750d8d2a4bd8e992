import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { parseArgs } from "node:util";
import { ANSWER, requestOf } from "./traffic.ts";

/**
 * CPU of the facade's process per request, by lane, beside a bare node:http server and bare sockets that answer the same.
 * Rounds alternate and medians are compared; look at the ratios, not at the times.
 */
const VARIANTS = ["node", "fast", "bare", "sockets"] as const;

interface Load {
  readonly name: string;
  readonly connections: number;
  readonly requests: number;
  readonly request: Buffer;
  readonly stream: boolean;
}

const { values } = parseArgs({
  options: { rounds: { type: "string", default: "5" }, requests: { type: "string", default: "6000" } },
});
const requests = Number(values.requests);
const LOADS: readonly Load[] = [
  { name: "1 KB, 1 conn.", connections: 1, requests, request: requestOf(1024, false), stream: false },
  {
    name: "1 KB, 32 conn.",
    connections: 32,
    requests: 2 * requests,
    request: requestOf(1024, false),
    stream: false,
  },
  {
    name: "200 KB, 1 conn.",
    connections: 1,
    requests: requests / 10,
    request: requestOf(204_800, false),
    stream: false,
  },
  {
    name: "200 KB, 32 conn.",
    connections: 32,
    requests: requests / 5,
    request: requestOf(204_800, false),
    stream: false,
  },
  {
    name: "100 events, 32 conn.",
    connections: 32,
    requests: requests / 10,
    request: requestOf(1024, true),
    stream: true,
  },
];

const LAST_CHUNK = Buffer.from("0\r\n\r\n");

/** Sends the request again and again, each after the last one's answer; ends after `count` answers. */
class Client {
  readonly #socket: Socket;
  readonly #load: Load;
  readonly #take: () => boolean;
  readonly #done = Promise.withResolvers<void>();
  #got = 0;
  #expected = 0;

  constructor(socket: Socket, load: Load, take: () => boolean) {
    this.#socket = socket;
    this.#load = load;
    this.#take = take;
    socket.on("data", (bytes: Buffer) => this.#read(bytes));
    socket.on("close", () => this.#done.reject(new Error("the server closed the connection")));
  }

  run(): Promise<void> {
    this.#ask();
    return this.#done.promise;
  }

  #ask(): void {
    if (this.#take()) this.#socket.write(this.#load.request);
    else {
      this.#done.resolve();
      this.#socket.destroy();
    }
  }

  #read(bytes: Buffer): void {
    if (this.#load.stream) {
      if (bytes.subarray(-5).equals(LAST_CHUNK)) this.#ask();
      return;
    }
    if (this.#expected === 0) this.#expected = bytes.indexOf("\r\n\r\n") + 4 + ANSWER.length;
    this.#got += bytes.length;
    if (this.#got < this.#expected) return;
    this.#got = 0;
    this.#expected = 0;
    this.#ask();
  }
}

class ServerProcess {
  readonly #child: ChildProcess;
  port = 0;

  constructor(variant: string) {
    this.#child = fork(new URL("server.ts", import.meta.url), [variant]);
  }

  async start(): Promise<void> {
    const [message] = (await once(this.#child, "message")) as [{ port: number }];
    this.port = message.port;
  }

  async cpu(): Promise<number> {
    this.#child.send("cpu");
    const [message] = (await once(this.#child, "message")) as [{ cpu: number }];
    return message.cpu;
  }

  stop(): void {
    this.#child.disconnect();
  }
}

async function drive(server: ServerProcess, load: Load): Promise<number> {
  let left = load.requests;
  const take = (): boolean => {
    left -= 1;
    return left >= 0;
  };
  const sockets = Array.from({ length: load.connections }, () => connect(server.port, "127.0.0.1"));
  await Promise.all(sockets.map((socket) => once(socket, "connect")));
  for (const socket of sockets) socket.setNoDelay(true);
  const before = await server.cpu();
  await Promise.all(sockets.map((socket) => new Client(socket, load, take).run()));
  return ((await server.cpu()) - before) / load.requests;
}

const servers = new Map(VARIANTS.map((variant) => [variant, new ServerProcess(variant)]));
for (const server of servers.values()) await server.start();
process.stdout.write(`CPU µs per request (ratio to the node lane)\n`);
for (const load of LOADS) {
  const spent = new Map<string, number[]>(VARIANTS.map((variant) => [variant, []]));
  for (let round = -1; round < Number(values.rounds); round += 1) {
    for (const [variant, server] of servers) {
      const cost = await drive(server, load);
      // The first round warms up.
      if (round >= 0) spent.get(variant)?.push(cost);
    }
  }
  const base = median(spent.get("node") ?? []);
  const cells = [...spent].map(([variant, costs]) => {
    const cost = median(costs);
    return `${variant} ${cost.toFixed(1)} (${(cost / base).toFixed(2)})`;
  });
  process.stdout.write(`${load.name.padEnd(22)} ${cells.join("   ")}\n`);
}
for (const server of servers.values()) server.stop();

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN;
}
