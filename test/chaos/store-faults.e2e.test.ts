import { setTimeout as delay } from "node:timers/promises";
import { createScriptedProvider, createTcpProxy, eventually, failure, OK } from "@switchyard/testkit";
import type { ScriptedProvider, TcpProxy } from "@switchyard/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, unbench } from "./admin.ts";
import { chat, ENV, Traffic } from "./chat.ts";
import type { Answered } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { ordered } from "./config.ts";
import { startNats } from "./nats.ts";
import type { Nats } from "./nats.ts";

const PER_SECOND = 50;
const SLOWER_BY_MS = 1_000;
const LOG_LINES = 200;
const NOTICED = { within: 10_000, every: 50 };

let owner: AsyncDisposableStack;
let nats: Nats;
let proxy: TcpProxy;
let a: ScriptedProvider;
let b: ScriptedProvider;
let cluster: Cluster;

// Two gateways whose store is away at their very start.
beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  nats = stack.use(await startNats());
  proxy = stack.use(await createTcpProxy(nats.port));
  a = stack.use(await createScriptedProvider());
  b = stack.use(await createScriptedProvider());
  await proxy.refuse();
  cluster = stack.use(
    await startCluster({
      natsUrl: `nats://127.0.0.1:${proxy.port}`,
      config: ordered(a, b, { cooloff: "2s" }),
      nodes: { serve: 2 },
      env: ENV,
    }),
  );
  owner = stack.move();
});

afterAll(() => owner.disposeAsync());

beforeEach(() => {
  a.answer(OK("a"));
  b.answer(OK("b"));
});

async function told(state: "connected" | "reconnecting"): Promise<void> {
  await eventually(async () => {
    for (const gateway of cluster.members) {
      expect(await gateway.readyz()).toMatchObject({ httpStatus: 200, bus: state });
      expect(await gateway.metric("switchyard_bus_connected")).toBe(state === "connected" ? 1 : 0);
    }
  }, NOTICED);
}

/** A bench made on one gateway shows on the other, both ways. */
async function shared(): Promise<void> {
  for (const [made, seen] of [
    [0, 1],
    [1, 0],
  ] as const) {
    await bench(cluster.at("serve", made), "a/m-a", 60_000);
    await eventually(async () => expect((await chat(cluster.faces[seen] as string)).text).toBe("b"), {
      within: 2_000,
      every: 10,
    });
    await unbench(cluster.at("serve", made), "a/m-a");
    await eventually(async () => expect((await chat(cluster.faces[seen] as string)).text).toBe("a"), {
      within: 2_000,
      every: 10,
    });
  }
}

/** A fails for a while: each gateway finds out by itself and goes on with B. */
async function aFails(traffic: Traffic, forMs: number): Promise<void> {
  const from = performance.now();
  const before = a.calls.length;
  a.answer(failure(500, { message: "down" }));
  await delay(forMs);
  a.answer(OK("a"));
  const served = traffic.sentBetween(from + 200, from + forMs - 200);
  expect(served.length).toBeGreaterThan(0);
  expect(new Set(served.map(({ text }) => text))).toEqual(new Set(["b"]));
  // One that was in flight at the same time may still get to A; then only who tries again after the cool-off.
  expect(a.calls.length - before).toBeLessThan(20 + forMs / 100);
}

interface Course {
  readonly failed: readonly Answered[];
  readonly slowestMs: number;
  /** About the store, of the process that wrote most, since its start. */
  readonly logLines: number;
  /** Statuses of `/healthz`. */
  readonly alive: ReadonlySet<number>;
}

/** What callers, the log and `/healthz` tell of it, with normal load throughout. */
async function during(what: string, run: (traffic: Traffic) => Promise<void>): Promise<Course> {
  await using traffic = new Traffic(cluster.faces, PER_SECOND);
  const watching = new AbortController();
  const alive = watchLiveness(watching.signal);
  try {
    await run(traffic);
  } finally {
    watching.abort();
    await traffic.stop();
  }
  const { answers, failed } = traffic;
  const slowestMs = Math.max(...answers.map(({ ms }) => ms));
  const logLines = Math.max(
    ...cluster.members.map(
      ({ output }) => output.split("\n").filter((line) => /NATS|store|bus/.test(line)).length,
    ),
  );
  console.log(
    `measured: ${what}: ${answers.length} requests, ${failed.length} failed, slowest ${slowestMs.toFixed(0)} ms, ` +
      `at most ${logLines} log lines about the store`,
  );
  return { failed, slowestMs, logLines, alive: new Set(await alive) };
}

/** What the store's absence cost; nothing, it should be. */
function harmOf({ failed, slowestMs, logLines, alive }: Course): readonly string[] {
  return [
    ...failed.map(({ status, text }) => `a request failed: ${status} ${text}`),
    ...(slowestMs < SLOWER_BY_MS ? [] : [`a request took ${slowestMs} ms`]),
    ...(logLines < LOG_LINES ? [] : [`${logLines} log lines`]),
    ...[...alive].filter((status) => status !== 200).map((status) => `liveness ${status}`),
  ];
}

async function watchLiveness(signal: AbortSignal): Promise<number[]> {
  const seen: number[] = [];
  while (!signal.aborted) {
    for (const gateway of cluster.members) seen.push(await gateway.healthz());
    await delay(100);
  }
  return seen;
}

describe("BH-44 · invariant 2, B6: the store", () => {
  it("is absent at the start: gateways start, serve, and join when it comes", async () => {
    const course = await during("store absent at start", async (traffic) => {
      await told("reconnecting");
      await aFails(traffic, 1_000);
      await proxy.forward();
      await told("connected");
    });
    expect(harmOf(course)).toEqual([]);
    await cluster.settled();
    await shared();
  });

  it("is a black hole: nobody waits for it, and it is found again", async () => {
    const course = await during("store black-holed", async (traffic) => {
      proxy.blackHole();
      await delay(500);
      await aFails(traffic, 1_500);
      await told("reconnecting");
      await proxy.forward();
      await told("connected");
    });
    expect(harmOf(course)).toEqual([]);
    await shared();
  });

  it("refuses connections", async () => {
    const course = await during("store refused", async (traffic) => {
      await proxy.refuse();
      await told("reconnecting");
      await aFails(traffic, 1_000);
      await proxy.forward();
      await told("connected");
    });
    expect(harmOf(course)).toEqual([]);
    await shared();
  });

  it("answers each time 900 ms late", async () => {
    const course = await during("store slow", async (traffic) => {
      proxy.delayReplies(900);
      await delay(500);
      await aFails(traffic, 1_500);
      proxy.delayReplies(0);
      await told("connected");
    });
    expect(harmOf(course)).toEqual([]);
    await shared();
  });
});
