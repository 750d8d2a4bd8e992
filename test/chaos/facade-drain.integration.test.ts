import { once } from "node:events";
import { Agent, request } from "node:http";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createFacade, type Facade } from "@switchyard/facade";
import { InferResponseSchema } from "@switchyard/proto/inference/v1/inference_service";
import { Metrics, SILENT } from "@switchyard/telemetry";
import { comesTrue } from "@switchyard/testkit";
import OpenAI from "openai";
import { afterEach, describe, expect, it } from "vitest";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

const ANSWER = JSON.stringify({
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "hi" } }],
});
const ANSWER_MS = 4;

interface Running {
  facade: Facade;
  port: number;
  served: number;
}

async function startFacade(): Promise<Running> {
  const answer = create(InferResponseSchema, {
    part: { case: "chunk", value: new TextEncoder().encode(ANSWER) },
  });
  const head = create(InferResponseSchema, {
    part: {
      case: "head",
      value: { status: 200, headers: [{ name: "content-type", value: "application/json" }] },
    },
  });
  const facade = createFacade({
    inference: {
      infer(_request, sink) {
        running.served += 1;
        setTimeout(() => {
          sink.send(head);
          sink.send(answer);
          sink.end();
        }, ANSWER_MS);
      },
    },
    maxBodyBytes: 1024 * 1024,
    logger: SILENT,
    metrics: new Metrics(),
  });
  const running: Running = { facade, port: 0, served: 0 };
  running.port = Number((await facade.listen({ host: "127.0.0.1", port: 0 })).split(":").at(-1));
  cleanups.push(() => facade.close(0));
  return running;
}

/** A TCP balancer that knows nothing of HTTP: each connection goes to the first that takes it. */
async function startBalancer(ports: readonly number[]): Promise<number> {
  const sockets = new Set<Socket>();
  const join = (client: Socket, at: number): void => {
    const server = connect({ port: ports[at] as number, host: "127.0.0.1", noDelay: true });
    sockets.add(server);
    server.once("connect", () => client.pipe(server).pipe(client));
    server.on("error", () => {
      if (server.bytesRead + server.bytesWritten > 0 || at + 1 === ports.length) client.destroy();
      else join(client, at + 1);
    });
    client.on("close", () => server.destroy());
  };
  const balancer = createServer((client) => {
    sockets.add(client);
    client.setNoDelay(true);
    client.on("error", () => {});
    join(client, 0);
  });
  return listen(balancer, sockets);
}

async function listen(
  server: ReturnType<typeof createServer>,
  sockets: ReadonlySet<Socket>,
): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  cleanups.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return typeof address === "object" ? (address?.port ?? 0) : 0;
}

type Ask = () => Promise<unknown>;
const BODY = JSON.stringify({ model: "m", messages: [{ role: "user", content: "hi" }] });
const HEADERS = { "content-type": "application/json", authorization: "Bearer k" };

const CLIENTS: readonly [string, (port: number) => Ask][] = [
  [
    "fetch",
    (port) => async () => {
      const response = await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, {
        method: "POST",
        headers: HEADERS,
        body: BODY,
      });
      await response.text();
      return response.status;
    },
  ],
  [
    "node's agent",
    (port) => {
      const agent = new Agent({ keepAlive: true });
      cleanups.push(() => agent.destroy());
      return () =>
        new Promise((resolve, reject) => {
          const options = { port, method: "POST", path: "/v1/chat/completions", headers: HEADERS, agent };
          const asked = request(options, (response) => {
            response.resume();
            response.on("end", () => resolve(response.statusCode));
          });
          asked.on("error", reject);
          asked.end(BODY);
        });
    },
  ],
  [
    "the OpenAI SDK",
    (port) => {
      const openai = new OpenAI({ apiKey: "k", baseURL: `http://127.0.0.1:${port}/v1` });
      return async () => {
        const answer = await openai.chat.completions.create({
          model: "m",
          messages: [{ role: "user", content: "hi" }],
        });
        return answer.choices[0]?.message.content === "hi" ? 200 : answer;
      };
    },
  ],
];

/** Asks at an even pace for that long and gives what came back. */
async function load(ask: Ask, perSecond: number, ms: number): Promise<unknown[]> {
  const answers: Promise<unknown>[] = [];
  const until = performance.now() + ms;
  while (performance.now() < until) {
    answers.push(ask().catch((error: unknown) => error));
    await delay(1000 / perSecond);
  }
  return Promise.all(answers);
}

/** RFC 9110, 15.5.9: a call that met the farewell was not processed; clients without tries of their own may repeat it. */
const repeating =
  (ask: Ask): Ask =>
  async () => {
    const answer = await ask();
    return answer === 408 ? ask() : answer;
  };

describe("a facade that drains behind a TCP balancer", () => {
  it.each(CLIENTS)("fails no call of %s with kept connections", async (_name, client) => {
    const [leaving, staying] = [await startFacade(), await startFacade()];
    const ask = client(await startBalancer([leaving.port, staying.port]));
    // Many connections that lie idle, beside the few that the load uses.
    await Promise.all(Array.from({ length: 30 }, ask));
    const answers = load(repeating(ask), 200, 1500);
    await delay(300);
    await leaving.facade.close(10_000);
    const all = await answers;
    expect(all.filter((answer) => answer !== 200)).toEqual([]);
    expect(staying.served).toBeGreaterThan(0);
  });

  const FAREWELL = "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

  it.each(CLIENTS)("%s drops an idle connection that says farewell, and goes on", async (_name, client) => {
    const sockets = new Set<Socket>();
    let answered = 0;
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
      socket.on("data", (bytes: Buffer) => {
        if (!bytes.toString("latin1").endsWith(BODY)) return;
        answered += 1;
        socket.write(
          `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: ${ANSWER.length}\r\n\r\n${ANSWER}`,
        );
      });
    });
    const ask = client(await listen(server, sockets));
    expect(await ask()).toBe(200);
    for (const socket of sockets) socket.end(FAREWELL);
    await comesTrue(() => sockets.size === 0);
    expect(await ask()).toBe(200);
    expect(answered).toBe(2);
  });

  it("the OpenAI SDK repeats a call whose connection says farewell", async () => {
    const { port } = await startFacade();
    const sockets = new Set<Socket>();
    let refused = 0;
    const server = createServer((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      if (refused === 0) {
        refused += 1;
        socket.once("data", () => socket.end(FAREWELL));
      } else socket.pipe(connect(port, "127.0.0.1")).pipe(socket);
    });
    const [, client] = CLIENTS[2] as (typeof CLIENTS)[number];
    expect(await client(await listen(server, sockets))()).toBe(200);
    expect(refused).toBe(1);
  });
});
