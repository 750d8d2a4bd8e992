import { setTimeout as delay } from "node:timers/promises";
import { CH, createScriptedProvider, endlessLine, eventually, OK, ROLE, sse } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { chat, ENV, percentile, Traffic } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { single } from "./config.ts";
import { startNats } from "./nats.ts";
import { SCALE } from "./scale.ts";
import { floodOf, hashOfFlood, queuedBytes, rssOf, slowReader } from "./slow-readers.ts";
import type { SlowReader } from "./slow-readers.ts";

const READERS = 20;
const WARM_MIB = 8;
/** Of all that is read on: at 20 MiB/s, which a busy machine reaches. */
const READ_WITHIN_MS = 10_000 + SCALE.floodMib * SCALE.readOn * 50;
/** Of all processes together. */
const GROWTH_MIB = 100;
/** What the gateway itself may hold of a stream; what the kernel holds comes on top, and Node cannot ask it for less. */
const HELD_MIB = 4;
const MIB = 1024 * 1024;

const forms = [
  { form: "one process", nodes: { serve: 1 } },
  { form: "four processes", nodes: { router: 1, forwarder: 1, health: 1, facade: 1 } },
] as const;

const sum = (values: readonly number[]): number => values.reduce((all, one) => all + one, 0);

const added = (now: readonly number[], before: readonly number[]): string =>
  now.map((rss, index) => `+${(rss - (before[index] ?? 0)).toFixed(0)}`).join(", ");

const streams = (a: ScriptedProvider) =>
  a.calls.filter((call) => (call.json() as { stream?: boolean }).stream === true);

/** Every stream's bytes as A's kernel took them, once none has taken more for 1.5 s. */
async function levelledOff(a: ScriptedProvider): Promise<number[]> {
  let before: number[] = [];
  let unchanged = 0;
  return eventually(
    () => {
      const now = streams(a).map(({ bytesAccepted }) => bytesAccepted);
      const same = now.length === READERS && now.every((bytes, index) => bytes === before[index]);
      before = now;
      unchanged = same ? unchanged + 1 : 0;
      if (unchanged < 3) throw new Error(`still growing: ${now.join(" ")}`);
      return now;
    },
    { within: 30_000, every: 500 },
  );
}

describe.for(forms)("BH-42 · invariant 6: slow readers, $form", ({ form, nodes }) => {
  let owner: AsyncDisposableStack;
  let a: ScriptedProvider;
  let cluster: Cluster;
  let face: string;

  beforeAll(async () => {
    await using stack = new AsyncDisposableStack();
    const nats = "serve" in nodes ? undefined : stack.use(await startNats());
    a = stack.use(await createScriptedProvider());
    cluster = stack.use(await startCluster({ natsUrl: nats?.url, config: single(a), nodes, env: ENV }));
    face = cluster.faces[0] as string;
    await warm();
    owner = stack.move();
  });

  afterAll(() => owner.disposeAsync());

  /** The runtime itself grows with the first streams at full speed; what counts is what slow readers add to that. */
  async function warm(): Promise<void> {
    for (let asked = 0; asked < 100; asked += 1) expect((await chat(face)).status).toBe(200);
    const cold = await rssOf(cluster);
    a.answer(floodOf(WARM_MIB));
    await Promise.all(
      Array.from({ length: READERS }, async () => {
        const { client } = await slowReader(face);
        await client.head();
        client.resume();
        expect(await client.response(30_000)).toMatchObject({ status: 200, complete: true });
        await client.close();
      }),
    );
    console.log(`measured: ${READERS} fast readers, ${form}: RSS ${added(await rssOf(cluster), cold)} MiB`);
  }

  beforeEach(() => a.clearCalls());

  it.for([
    ["chat", SCALE.readOn],
    // Each chunk of the provider's is taken apart, counted and told anew.
    ["messages", 1],
  ] as const)(
    "of %s are not buffered for, harm nobody, and get all in order when they read on",
    async ([dialect, readOn]) => {
      a.answer((call) =>
        (call.json() as { stream?: boolean }).stream === true ? floodOf(SCALE.floodMib) : OK("a"),
      );
      const before = await rssOf(cluster);

      const readers = await Promise.all(Array.from({ length: READERS }, () => slowReader(face, dialect)));
      for (const { client } of readers) expect(await client.head()).toMatchObject({ status: 200 });
      const accepted = await levelledOff(a);
      await using traffic = new Traffic([face], 50);
      await delay(SCALE.stalledMs);
      await traffic.stop();
      const later = streams(a).map(({ bytesAccepted }, index) => bytesAccepted - (accepted[index] ?? 0));
      const now = await rssOf(cluster);
      const received = sum(readers.map(({ client }) => client.received));
      const inKernel = await queuedBytes([a.port, ...cluster.members.flatMap(({ ports }) => ports)]);
      const held = (sum(accepted) - received - inKernel) / READERS / MIB;
      const p99 = percentile(
        traffic.answers.map(({ ms }) => ms),
        0.99,
      );
      console.log(
        `measured: ${READERS} slow readers of ${dialect}, ${form}: RSS ${added(now, before)} MiB, ` +
          `accepted of A per stream at most ${(Math.max(...accepted) / MIB).toFixed(2)} MiB, held by the gateway ` +
          `${held.toFixed(2)} MiB per stream (kernel ${(inKernel / READERS / MIB).toFixed(2)}), other clients' p99 ${p99.toFixed(0)} ms`,
      );
      expect(sum(now) - sum(before)).toBeLessThan(GROWTH_MIB);
      expect(held).toBeLessThan(HELD_MIB);
      // The kernel may still grow a buffer.
      expect(Math.max(...later)).toBeLessThan(HELD_MIB * MIB);
      // Had A got rid of all of it, nothing below would show anything.
      expect(streams(a).every(({ answeredAt }) => answeredAt === undefined)).toBe(true);
      expect(traffic.failed).toEqual([]);
      expect(p99).toBeLessThan(500);

      const [closed, ...others] = readers as [SlowReader, ...SlowReader[]];
      await closed.client.close();
      await eventually(
        () => expect(streams(a).filter(({ closedAt }) => closedAt !== undefined)).toHaveLength(1),
        {
          within: 1_000,
          every: 5,
        },
      );
      const wanted = hashOfFlood(SCALE.floodMib, dialect);
      await Promise.all(
        others.slice(0, readOn).map(async (reader) => {
          const { client } = reader;
          client.resume();
          expect(await client.response(READ_WITHIN_MS)).toMatchObject({ status: 200, complete: true });
          expect(reader.hash()).toBe(wanted);
        }),
      );
      await Promise.all(others.map(({ client }) => client.close()));
      await eventually(
        () => expect(streams(a).filter(({ closedAt }) => closedAt === undefined)).toHaveLength(readOn),
        { within: 1_000 },
      );
      for (let asked = 0; asked < 10; asked += 1) expect((await chat(face)).status).toBe(200);
    },
  );

  it.for([
    ["at once", []],
    ["after a token", [ROLE, CH({ content: "x" }, null)]],
  ] as const)(
    "a line of 64 MiB without an end, %s: E6: an error and the end, memory bounded",
    async ([, first]) => {
      a.answer(sse([...first, endlessLine(64)]));
      const before = await rssOf(cluster);
      let most = 0;
      const watching = setInterval(() => {
        void rssOf(cluster).then((now) => (most = Math.max(most, sum(now) - sum(before))));
      }, 50);
      const reader = await slowReader(face);
      const { client } = reader;
      const { status } = await client.head(10_000);
      client.resume();
      const { complete } = await client.response(10_000);
      clearInterval(watching);
      const [call] = streams(a);
      console.log(
        `measured: endless line, ${form}, ${first.length} events before: ${status}, ${client.received} bytes to the ` +
          `client, ${((call?.bytesAccepted ?? 0) / MIB).toFixed(1)} MiB accepted of A, RSS at most +${most.toFixed(0)} MiB`,
      );
      expect({ status, complete }).toEqual({ status: first.length === 0 ? 502 : 200, complete: true });
      expect(reader.text()).toMatch(/"code":"upstream_invalid_response"/);
      expect(reader.text()).not.toContain("[DONE]");
      expect(most).toBeLessThan(GROWTH_MIB);
      await eventually(() => expect(streams(a).every(({ closedAt }) => closedAt !== undefined)).toBe(true), {
        within: 1_000,
      });
    },
  );
});
