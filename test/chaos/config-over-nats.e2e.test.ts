import { createScriptedProvider, eventually, OK } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readConfig, withRuntime } from "../support/gateway-config.ts";
import { apply, applyMessage, groupsOf } from "./admin.ts";
import { chat, ENV, percentile, printTimes } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { ordered } from "./config.ts";
import { startNats } from "./nats.ts";
import type { Nats } from "./nats.ts";

const CHANGES = 30;
const APPLIED_WITHIN_MS = 1_000;
const FIRST = ["g", "only-first"];

let owner: AsyncDisposableStack;
let nats: Nats;
let a: ScriptedProvider;
let cluster: Cluster;

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  nats = stack.use(await startNats());
  a = stack.use(await createScriptedProvider());
  a.answer(OK("a"));
  cluster = stack.use(
    await startCluster({
      natsUrl: nats.url,
      config: ordered(a, a, {}, FIRST),
      nodes: { serve: 2 },
      env: ENV,
    }),
  );
  await cluster.settled();
  owner = stack.move();
});

afterAll(() => owner.disposeAsync());

/** Milliseconds until a request for the group is served through that face. */
async function servedAfter(face: string, group: string, since: number): Promise<number> {
  for (;;) {
    const { status } = await chat(face, { model: group });
    const ms = performance.now() - since;
    if (status === 200 || ms > 5_000) return ms;
  }
}

describe("config over NATS", () => {
  it("K5: a change applied at one router is in force at every router within a second, and costs no request", async () => {
    const times: number[] = [];
    for (let change = 0; change < CHANGES; change += 1) {
      const group = `added-${change}`;
      const since = performance.now();
      const applied = apply(cluster.at("serve", change % 2), ordered(a, a, {}, ["g", group]));
      const [kept, ...late] = await Promise.all([
        chat(cluster.faces[0] as string),
        ...cluster.faces.map((face) => servedAfter(face, group, since)),
      ]);
      expect(kept.status).toBe(200);
      times.push(Math.max(...late));
      expect(await applied).toBe(change + 2);
    }
    printTimes("apply called to served through both routers", times);
    expect(percentile(times, 0.9)).toBeLessThan(APPLIED_WITHIN_MS);
  });

  it("a file only seeds an empty store: a router that starts later takes what is stored", async () => {
    const router = cluster.at("serve", 1);
    const stored = await groupsOf(cluster.at("serve", 0));
    expect(stored).not.toEqual(FIRST);
    await router.kill();
    await router.start();
    await cluster.settled(CHANGES + 1);
    expect(await groupsOf(router)).toEqual(stored);
    expect((await chat(cluster.faces[1] as string, { model: "only-first" })).status).toBe(403);
  });

  it("invariant 10: a config with a fault is refused whole, and what was in force stays", async () => {
    const { revision } = await cluster.at("serve").readyz();
    const faulty = readConfig(withRuntime(ordered(a, a, {}, ["g", "half"]), {}));
    faulty.groups[0]?.deployments.splice(0);
    await expect(applyMessage(cluster.at("serve"), faulty)).rejects.toThrow(/groups\[0\]\.deployments/);
    expect(await groupsOf(cluster.at("serve"))).not.toContain("half");
    expect((await cluster.at("serve").readyz()).revision).toBe(revision);
  });

  it("a router that finds the store empty puts back its highest revision; the file comes last", async () => {
    const [first, second] = [cluster.at("serve", 0), cluster.at("serve", 1)];
    const stored = await groupsOf(first);
    const { revision } = await first.readyz();
    await nats.kill();
    await second.kill();
    await nats.restartEmpty();
    await second.start();
    await cluster.settled(revision);
    expect(await groupsOf(second)).toEqual(stored);
    expect((await second.readyz()).revision).toBe(revision);
    // The store goes on from there, and so do both routers.
    expect(await apply(second, ordered(a, a, {}, ["g", "after-loss"]))).toBe(revision + 1);
    await eventually(async () => {
      for (const face of cluster.faces) expect((await chat(face, { model: "after-loss" })).status).toBe(200);
    });
  });
});
