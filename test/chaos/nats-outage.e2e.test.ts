import { setTimeout as delay } from "node:timers/promises";
import { createScriptedProvider, eventually, failure, OK } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { bench, benches, unbench } from "./admin.ts";
import { chat, ENV, Traffic } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { ordered } from "./config.ts";
import { startNats } from "./nats.ts";
import type { Nats } from "./nats.ts";
import { SCALE } from "./scale.ts";

const PER_SECOND = 40;
const credentials = (password: string): string => `authorization { user: switchyard, password: ${password} }`;
const GROUPS = ["g", "h0", "h1", "h2", "h3"];

let owner: AsyncDisposableStack;
let nats: Nats;
let a: ScriptedProvider;
let b: ScriptedProvider;
let cluster: Cluster;

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  nats = stack.use(await startNats(credentials("right-one")));
  a = stack.use(await createScriptedProvider());
  b = stack.use(await createScriptedProvider());
  a.answer(OK("a"));
  b.answer(OK("b"));
  cluster = stack.use(
    await startCluster({
      natsUrl: nats.url,
      nats: { user: "switchyard", password: { env: "NATS_PASSWORD" } },
      config: ordered(a, b, { cooloff: "600s" }, GROUPS),
      nodes: { serve: 2, health: 1 },
      env: { ...ENV, NATS_PASSWORD: "right-one" },
    }),
  );
  await cluster.settled();
  owner = stack.move();
});

afterAll(() => owner.disposeAsync());

async function told(bus: "connected" | "reconnecting", withinMs: number): Promise<number> {
  const since = performance.now();
  await eventually(
    async () => {
      for (const member of cluster.members) {
        expect(await member.readyz()).toMatchObject({ httpStatus: 200, bus });
        expect(await member.metric("switchyard_bus_connected")).toBe(bus === "connected" ? 1 : 0);
      }
    },
    { within: withinMs, every: 25 },
  );
  return performance.now() - since;
}

/** A failure met by one gateway benches A at the other within 2 s; `group` has seen none yet. */
async function coolsOff(from: string, to: string, group: string): Promise<void> {
  a.answer((call) =>
    (call.json() as { user?: string }).user === "fails" ? failure(500, { message: "down" }) : OK("a"),
  );
  expect((await chat(to, { model: group })).text).toBe("a");
  expect((await chat(from, { model: group, user: "fails" })).text).toBe("b");
  await eventually(async () => expect((await chat(to, { model: group })).text).toBe("b"), {
    within: 2_000,
    every: 10,
  });
}

/** The health service that stands alone tells both, and hears from both. */
async function toldByHand(group: string): Promise<void> {
  const health = cluster.at("health");
  const heard = async (): Promise<boolean> =>
    (await benches(health)).some((key) => key === `d:default/${group}:a/m-a`);
  await eventually(async () => expect(await heard()).toBe(true), { within: 2_000 });
  await unbench(health, "a/m-a", group);
  for (const face of cluster.faces) {
    await eventually(async () => expect((await chat(face, { model: group })).text).toBe("a"), {
      within: 2_000,
    });
  }
  await bench(health, "a/m-a", 600_000, group);
  for (const face of cluster.faces) {
    await eventually(async () => expect((await chat(face, { model: group })).text).toBe("b"), {
      within: 2_000,
    });
  }
}

async function oneConnectionEach(): Promise<void> {
  await eventually(async () => {
    const names = await nats.connections();
    expect(names).toHaveLength(cluster.members.length);
    expect(new Set(names).size).toBe(cluster.members.length);
  });
}

describe("BH-45 · B6, B5: NATS away", () => {
  it("for longer than a client's usual tries, back with empty storage: served throughout, and all is shared again", async () => {
    const pids = cluster.members.map(({ process }) => process.pid);
    await oneConnectionEach();
    await using traffic = new Traffic(cluster.faces, PER_SECOND);
    await nats.kill();
    const down = await told("reconnecting", 10_000);
    const before = a.calls.length;
    const badSince = performance.now();
    a.answer(failure(500, { message: "down" }));
    await delay(SCALE.natsOutageMs);
    await nats.restartEmpty();
    const up = await told("connected", 15_000);
    await traffic.stop();
    const late = traffic.sentBetween(badSince + 500, Number.POSITIVE_INFINITY);
    console.log(
      `measured: NATS away ${SCALE.natsOutageMs} ms: told after ${down.toFixed(0)} ms, told back after ${up.toFixed(0)} ms, ` +
        `${traffic.answers.length} requests, ${traffic.failed.length} failed, ${a.calls.length - before} met the bad A, ` +
        `slowest ${Math.max(...traffic.answers.map(({ ms }) => ms)).toFixed(0)} ms`,
    );
    expect(traffic.failed).toEqual([]);
    expect(new Set(late.map(({ text }) => text))).toEqual(new Set(["b"]));
    // One each, and what was under way at that moment.
    expect(a.calls.length - before).toBeLessThan(12);

    await eventually(async () =>
      expect(await nats.streams()).toEqual(
        expect.arrayContaining(["KV_switchyard_config", "KV_switchyard_health"]),
      ),
    );
    const [first = "", second = ""] = cluster.faces;
    await coolsOff(first, second, "h0");
    await coolsOff(second, first, "h1");
    await toldByHand("h0");
    await oneConnectionEach();
    expect(cluster.members.map(({ process }) => process.pid)).toEqual(pids);
  });

  it("with other credentials for a while: served throughout, one line each, and it recovers", async () => {
    a.answer(OK("a"));
    const refusals = (): number[] =>
      cluster.members.map(({ output }) => output.split("NATS refuses").length - 1);
    await using traffic = new Traffic(cluster.faces, PER_SECOND, { model: "h2" });
    await nats.kill();
    await nats.restart(credentials("another"));
    await told("reconnecting", 10_000);
    await delay(SCALE.wrongCredentialsMs);
    expect(await nats.connections()).toEqual([]);
    await nats.restart();
    const up = await told("connected", 15_000);
    await traffic.stop();
    console.log(
      `measured: right credentials again: told back after ${up.toFixed(0)} ms, refusals logged ${refusals().join(", ")}`,
    );
    expect(traffic.failed).toEqual([]);
    for (const count of refusals()) expect(count).toBeLessThan(5);
    const [first = "", second = ""] = cluster.faces;
    await coolsOff(first, second, "h2");
    await coolsOff(second, first, "h3");
    await toldByHand("h2");
    await oneConnectionEach();
    expect(cluster.members.every(({ output }) => !output.includes("right-one"))).toBe(true);
  });
});
