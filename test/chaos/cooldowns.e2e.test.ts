import { setTimeout as delay } from "node:timers/promises";
import { createScriptedProvider, delayed, failure, OK, SILENT, tooMany } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { chat, ENV } from "./chat.ts";
import type { Answered } from "./chat.ts";
import { startCluster } from "./cluster.ts";
import type { Cluster } from "./cluster.ts";
import { ordered, provider } from "./config.ts";
import { startNats } from "./nats.ts";
import type { Nats } from "./nats.ts";

const GROUPS = ["short-first", "long-first"] as const;

let owner: AsyncDisposableStack;
let nats: Nats;
let a: ScriptedProvider;
let b: ScriptedProvider;
let c: ScriptedProvider;
let cluster: Cluster;

beforeAll(async () => {
  await using stack = new AsyncDisposableStack();
  nats = stack.use(await startNats());
  a = stack.use(await createScriptedProvider());
  b = stack.use(await createScriptedProvider());
  c = stack.use(await createScriptedProvider());
  b.answer(OK("b"));
  const config = ordered(a, b, {}, [...GROUPS, "probed"]);
  config.providers.push(provider("c", c, "UPKEY_A"));
  Object.assign(config.groups[2] as object, {
    deployments: [{ provider: "c", model: "m-c" }],
    policy: {
      retry: { max_retries: 0 },
      request_timeout: "2s",
      bench: { failures: 1, cooloff: "2s" },
    },
  });
  cluster = stack.use(await startCluster({ natsUrl: nats.url, config, nodes: { serve: 2 }, env: ENV }));
  await cluster.settled();
  owner = stack.move();
});

afterAll(() => owner.disposeAsync());

const askerOf = (call: { json(): unknown }): string => (call.json() as { user?: string }).user ?? "";

/** Ten requests, turn by turn to both gateways. */
function ten(group: string): Promise<Answered[]> {
  return Promise.all(
    Array.from({ length: 10 }, (_, index) =>
      chat(cluster.faces[index % 2] as string, { model: group, user: group }),
    ),
  );
}

const SHORT = tooMany({ "Retry-After": "1" });
const LONG = tooMany();

describe("BH-01 · invariant 4: of what two gateways meet, the latest end of the bench holds", () => {
  it("in whichever order they come", async () => {
    a.answer((call) => {
      const [group, turn] = askerOf(call).split(" ");
      const isFirst = turn === "1st";
      const answer = (group === "short-first") === isFirst ? SHORT : LONG;
      return isFirst ? answer : delayed(50, answer);
    });
    const [one = "", other = ""] = cluster.faces;
    const hold = a.hold();
    const answers = GROUPS.flatMap((model) => [
      chat(one, { model, user: `${model} 1st` }),
      ...Array.from({ length: 3 }, () => chat(other, { model, user: `${model} later` })),
    ]);
    await hold.waitFor(answers.length);
    hold.release();
    for (const { status, text } of await Promise.all(answers))
      expect({ status, text }).toEqual({ status: 200, text: "b" });
    const since = performance.now();
    a.answer(OK("a"));
    const callsFor = (group: string): number => a.calls.filter((call) => askerOf(call) === group).length;

    await delay(2_000);
    for (const group of GROUPS) {
      expect((await ten(group)).map(({ text }) => text)).toEqual(Array.from({ length: 10 }, () => "b"));
      expect(callsFor(group)).toBe(0);
    }
    await delay(6_000 - (performance.now() - since));
    for (const group of GROUPS) {
      await ten(group);
      expect(callsFor(group)).toBeGreaterThan(0);
    }
  });
});

describe("BH-08: a last resort that never settles", () => {
  it.for(["its caller goes away", "its gateway is killed"])("blocks nobody: %s", async (how) => {
    const [dying = "", staying = ""] = cluster.faces;
    c.answer(failure(500, { message: "down" }));
    for (let asked = 0; asked < 5; asked += 1) await chat(dying, { model: "probed" });
    await delay(2_200);
    c.answer(SILENT);
    c.clearCalls();
    const caller = new AbortController();
    const hanging = chat(dying, { model: "probed" }, caller.signal);
    await c.waitForCalls(1);
    if (how === "its gateway is killed") await cluster.at("serve", 0).kill();
    else await delay(300).then(() => caller.abort());
    expect((await hanging).status).toBe(0);
    c.answer(OK("up"));

    const since = performance.now();
    const answers: Answered[] = [];
    while (performance.now() - since < 5_000) {
      answers.push(await chat(staying, { model: "probed" }));
      if (answers.at(-1)?.status === 200) break;
      await delay(250);
    }
    expect(answers.at(-1)).toMatchObject({ status: 200, text: "up" });
    for (const { status } of answers.slice(0, -1)) expect([429, 503]).toContain(status);
    for (let asked = 0; asked < 5; asked += 1)
      expect(await chat(staying, { model: "probed" })).toMatchObject({ text: "up" });
  });
});
