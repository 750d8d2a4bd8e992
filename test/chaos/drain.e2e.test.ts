import { setTimeout as delay } from "node:timers/promises";
import {
  CH,
  collectSse,
  createScriptedProvider,
  DONE,
  eventually,
  OK,
  paced,
  ROLE,
  sse,
} from "@switchyard/testkit";
import type { CollectedSse, ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CALLER_KEY, ENV, Traffic } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster, Member } from "./cluster.ts";
import { single } from "./config.ts";
import { startNats } from "./nats.ts";
import type { Nats } from "./nats.ts";

const STREAMS = 12;
const WORDS = Array.from({ length: 15 }, (_, index) => `w${index} `);
const PER_SECOND = 40;
const ENDED_WITHIN_MS = 10_000;

let owner: AsyncDisposableStack;
let nats: Nats;
let a: ScriptedProvider;
let apart: Cluster;
let together: Cluster;

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  nats = stack.use(await startNats());
  a = stack.use(await createScriptedProvider());
  const stream = sse([
    ROLE,
    ...paced(
      100,
      WORDS.map((content) => CH({ content }, null)),
    ),
    CH({}, "stop"),
    DONE,
  ]);
  a.answer((call) => ((call.json() as { stream?: boolean }).stream === true ? stream : OK("a")));
  const common = { config: single(a), env: ENV, runtime: { drain: "20s" } };
  apart = stack.use(
    await startCluster({
      ...common,
      natsUrl: nats.url,
      nodes: { router: 2, forwarder: 2, health: 1, facade: 2 },
    }),
  );
  together = stack.use(await startCluster({ ...common, natsUrl: undefined, nodes: { serve: 1 } }));
  await apart.settled();
  owner = stack.move();
});

afterAll(() => owner.disposeAsync());

/** Streams that are under way: each has its first word. */
async function begin(face: string): Promise<Promise<CollectedSse>[]> {
  const responses = await Promise.all(
    Array.from({ length: STREAMS }, () =>
      fetch(`${face}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${CALLER_KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "g", stream: true, messages: [{ role: "user", content: "hi" }] }),
      }),
    ),
  );
  for (const { status } of responses) expect(status).toBe(200);
  return responses.map((response) => collectSse(response, { withinMs: ENDED_WITHIN_MS }));
}

async function allWhole(streams: readonly Promise<CollectedSse>[]): Promise<void> {
  for (const stream of await Promise.all(streams)) {
    expect(stream).toMatchObject({ text: WORDS.join(""), done: true, errors: [] });
    expect(stream.failure).toBeUndefined();
  }
}

async function terminated(member: Member): Promise<number> {
  const at = performance.now();
  member.process.kill("SIGTERM");
  expect(await member.process.exited).toEqual({ code: 0, signal: null });
  return performance.now() - at;
}

describe("SIGTERM under load", () => {
  it("one process: running streams finish, new callers are turned away, exit code 0", async () => {
    const gateway = together.at("serve");
    const streams = await begin(gateway.http);
    const gone = terminated(gateway);
    await eventually(() => expect(fetch(`${gateway.http}/v1/models`)).rejects.toThrow("fetch failed"), {
      within: 1_000,
    });
    await allWhole(streams);
    console.log(`measured: one process with ${STREAMS} streams drained in ${(await gone).toFixed(0)} ms`);
  });

  it("a facade: the same, and its neighbour serves on", async () => {
    const [leaving, staying] = [apart.at("facade", 0), apart.at("facade", 1)];
    const streams = await begin(leaving.http);
    await using traffic = new Traffic([staying.http], PER_SECOND);
    const gone = terminated(leaving);
    await allWhole(streams);
    console.log(`measured: facade with ${STREAMS} streams drained in ${(await gone).toFixed(0)} ms`);
    await traffic.stop();
    expect(traffic.failed).toEqual([]);
    expect(traffic.answers.length).toBeGreaterThan(0);
    await leaving.start();
  });

  it.for(["forwarder", "router", "health"] as const)(
    "a %s: streams through it finish, and requests beside go on",
    async (kind) => {
      const streams = (await Promise.all(apart.faces.map(begin))).flat();
      await using traffic = new Traffic(apart.faces, PER_SECOND);
      await delay(200);
      const ms = await terminated(apart.at(kind));
      await allWhole(streams);
      await traffic.stop();
      console.log(
        `measured: ${kind} drained in ${ms.toFixed(0)} ms, ${traffic.answers.length} requests beside, ${traffic.failed.length} failed`,
      );
      await apart.at(kind).start();
      await apart.settled();
      expect(traffic.failed).toEqual([]);
    },
  );
});
