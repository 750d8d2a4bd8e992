import { setTimeout as delay } from "node:timers/promises";
import { createScriptedProvider, delayed, eventually, failure, OK } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bench, benches, unbench } from "./admin.ts";
import { chat, ENV, Traffic } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster, Member } from "./cluster.ts";
import { ordered } from "./config.ts";
import { startNats } from "./nats.ts";
import type { Nats } from "./nats.ts";

const PER_SECOND = 50;
const KEPT_MS = 120_000;
/** A facade may have sent to a socket of which it has not heard yet that it is dead. */
const NOTICED_MS = 100;
const SCOPE = /a\/m-a/;
const HONOURED = { within: 5_000, every: 20 };

let owner: AsyncDisposableStack;
let nats: Nats;
let a: ScriptedProvider;
let b: ScriptedProvider;
let cluster: Cluster;

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  nats = stack.use(await startNats());
  a = stack.use(await createScriptedProvider());
  b = stack.use(await createScriptedProvider());
  cluster = stack.use(
    await startCluster({
      natsUrl: nats.url,
      config: ordered(a, b, { cooloff: "120s" }),
      nodes: { router: 2, forwarder: 2, health: 1, facade: 2 },
      env: ENV,
    }),
  );
  await cluster.settled();
  owner = stack.move();
});

afterAll(() => owner.disposeAsync());

beforeEach(async () => {
  a.answer(OK("a"));
  b.answer(OK("b"));
  await unbench(cluster.at("health"), "a/m-a");
  await everywhere("a");
});

/** Waits until whichever router answers sends requests to that provider: eight in a row through each face. */
async function everywhere(served: string): Promise<void> {
  await eventually(async () => {
    for (const face of cluster.faces) {
      for (let asked = 0; asked < 8; asked += 1) {
        const answer = await chat(face);
        if (answer.text !== served) throw new Error(`${face} answers ${answer.status} ${answer.text}`);
      }
    }
  }, HONOURED);
}

/** One failure benches A for longer than the file runs. */
async function benchA(): Promise<void> {
  a.answer(failure(500, { message: "down" }));
  await eventually(async () => {
    await chat(cluster.faces[0] as string);
    expect(await benches(cluster.at("health"))).toEqual([expect.stringMatching(SCOPE)]);
  }, HONOURED);
  a.answer(OK("a"));
  await everywhere("b");
}

/** A health service that has just started reads the store first. */
async function known(): Promise<void> {
  await eventually(
    async () => expect(await benches(cluster.at("health"))).toEqual([expect.stringMatching(SCOPE)]),
    HONOURED,
  );
}

async function outage(member: Member, run: () => Promise<void>): Promise<void> {
  await member.kill();
  try {
    await run();
  } finally {
    await member.start();
    await cluster.settled();
  }
}

describe("losing a router", () => {
  it("costs no request, and one that starts later honours the benches (B5)", async () => {
    await using traffic = new Traffic(cluster.faces, PER_SECOND);
    await delay(500);
    await outage(cluster.at("router", 0), () => delay(1_000));
    await delay(500);
    await traffic.stop();
    expect(traffic.failed).toEqual([]);

    await benchA();
    await outage(cluster.at("router", 0), async () => undefined);
    await outage(cluster.at("router", 1), async () => undefined);
    await everywhere("b");
    expect(a.calls.length).toBeGreaterThan(0);
  });
});

describe("losing a forwarder", () => {
  it("costs at most the requests in flight on it", async () => {
    a.answer(delayed(60, OK("a")));
    await using traffic = new Traffic(cluster.faces, PER_SECOND);
    await delay(500);
    let goneAt = Number.POSITIVE_INFINITY;
    await outage(cluster.at("forwarder", 0), async () => {
      goneAt = performance.now();
      await delay(1_000);
    });
    await delay(500);
    await traffic.stop();
    const slowest = Math.max(...traffic.answers.map(({ ms }) => ms));
    const { failed } = traffic;
    console.log(
      `measured: forwarder killed: ${failed.length} of ${traffic.answers.length} requests failed ` +
        `(${[...new Set(failed.map(({ status, text }) => `${status} ${text.slice(0, 160)}`))].join(" | ")}), slowest ${slowest.toFixed(0)} ms`,
    );
    expect(failed.filter(({ sentAt }) => sentAt > goneAt + NOTICED_MS)).toEqual([]);
    for (const { status } of failed) expect(status).toBe(503);
  });
});

describe("losing the health service", () => {
  it("B6: stops no traffic; every router that meets a failure benches by itself; B5: benches survive its restart", async () => {
    await benchA();
    await outage(cluster.at("health"), async () => {
      await using traffic = new Traffic(cluster.faces, PER_SECOND);
      await delay(1_000);
      await traffic.stop();
      expect(traffic.failed).toEqual([]);
      expect(new Set(traffic.answers.map(({ text }) => text))).toEqual(new Set(["b"]));
      await Promise.all(
        cluster.all("router").map(async (router) => expect((await router.readyz()).httpStatus).toBe(200)),
      );
    });
    await eventually(async () => {
      expect(await benches(cluster.at("health"))).toEqual([expect.stringMatching(SCOPE)]);
    }, HONOURED);
    expect(await unbench(cluster.at("health"), "a/m-a")).toBe(true);
    await everywhere("a");

    await outage(cluster.at("health"), async () => {
      a.answer(failure(500, { message: "down" }));
      await using traffic = new Traffic(cluster.faces, PER_SECOND);
      await delay(1_000);
      await traffic.stop();
      expect(traffic.failed).toEqual([]);
      a.answer(OK("a"));
      await everywhere("b");
    });
    // What the routers found out alone is not known to a health service that was away; it learns by outcomes.
    await unbench(cluster.at("health"), "a/m-a");
    await everywhere("a");
  });
});

describe("benching by hand", () => {
  it("B5: is honoured everywhere, survives restarts of every service, and is ended by hand", async () => {
    await bench(cluster.at("health"), "a/m-a", KEPT_MS);
    await everywhere("b");
    await Promise.all([cluster.at("health").kill(), ...cluster.all("router").map((router) => router.kill())]);
    await Promise.all([
      cluster.at("health").start(),
      ...cluster.all("router").map((router) => router.start()),
    ]);
    await cluster.settled();
    await everywhere("b");
    expect(await unbench(cluster.at("health"), "a/m-a")).toBe(true);
    await everywhere("a");
    await Promise.all([cluster.at("health").kill(), cluster.at("router").kill()]);
    await Promise.all([cluster.at("health").start(), cluster.at("router").start()]);
    await cluster.settled();
    await everywhere("a");
    expect(await benches(cluster.at("health"))).toEqual([]);
  });
});

describe("losing nats-server", () => {
  it.for(["with the same storage", "with empty storage"])(
    "B6, B5: it is killed and comes back %s",
    async (storage) => {
      await benchA();
      await using traffic = new Traffic(cluster.faces, PER_SECOND);
      await delay(200);
      await nats.kill();
      await delay(1_500);
      await (storage === "with empty storage" ? nats.restartEmpty() : nats.restart());
      await cluster.settled();
      await delay(300);
      await traffic.stop();
      expect(traffic.failed).toEqual([]);
      expect(new Set(traffic.answers.map(({ text }) => text))).toEqual(new Set(["b"]));

      // Whoever starts now has nothing but the store.
      await outage(cluster.at("router", 0), async () => undefined);
      await outage(cluster.at("router", 1), async () => undefined);
      await outage(cluster.at("health"), async () => undefined);
      await everywhere("b");
      await known();
      expect(await unbench(cluster.at("health"), "a/m-a")).toBe(true);
      await everywhere("a");
    },
  );

  it("B6: what a router found out alone meanwhile is everybody's when it comes back", async () => {
    await nats.kill();
    a.answer(failure(500, { message: "down" }));
    await chat(cluster.faces[0] as string);
    a.answer(OK("a"));
    await nats.restart();
    await known();
    await everywhere("b");
    expect(await unbench(cluster.at("health"), "a/m-a")).toBe(true);
    await everywhere("a");

    await bench(cluster.at("health"), "a/m-a", KEPT_MS);
    await everywhere("b");
    await nats.kill();
    expect(await unbench(cluster.at("health"), "a/m-a")).toBe(true);
    await nats.restart();
    await everywhere("a");
  });
});
