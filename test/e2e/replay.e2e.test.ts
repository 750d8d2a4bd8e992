import { appendFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BROKEN,
  createScriptedProvider,
  eventually,
  type ManagedProcess,
  OK,
  type ScriptedProvider,
  startNode,
} from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

const MAIN = "services/standalone/src/main.ts";
const KEY = "sk-replay-4711";
const PROMPT = "a prompt that no log holds";
const REQUESTS = 40;

interface Report {
  readonly log: { readonly requests: number; readonly decisions: number };
  readonly total: { readonly after: { readonly answered: number; readonly failed: number } };
  readonly deployments: readonly {
    readonly deployment: string;
    readonly before: { readonly calls: number };
    readonly after: { readonly calls: number; readonly failed: number };
  }[];
  readonly moved: number;
}

const folder = mkdtempSync(join(tmpdir(), "switchyard-replay-"));
const log = join(folder, "decisions.ndjson");
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("switchyard replay", () => {
  let steady: ScriptedProvider;
  let flaky: ScriptedProvider;
  let recorded: string;

  /** A config of both providers, by weight; b's answers cost ten times as much. */
  function configFile(name: string, weights: readonly [a: number, b: number], policy: object = {}): string {
    const path = join(folder, name);
    const providers = [steady, flaky].map(({ url }, index) => ({
      name: "ab"[index],
      family: "openai_compatible",
      base_url: `${url}/v1`,
      credential: { none: true },
    }));
    const deployments = weights.map((weight, index) => ({
      provider: "ab"[index],
      model: "m",
      weight,
      price: { input: 1 + 9 * index, output: 1 + 9 * index },
    }));
    const config = {
      runtime: { listen: { http: "127.0.0.1:0", rpc: "127.0.0.1:0", ops: "127.0.0.1:0" } },
      providers,
      groups: [{ name: "chat", deployments, policy: { bench: { failures: 0 }, ...policy } }],
      keys: [{ name: "k", secret: { env: "REPLAY_KEY" }, groups: ["chat"] }],
    };
    writeFileSync(path, JSON.stringify(config));
    return path;
  }

  async function replay(config: string, ...more: string[]): Promise<ManagedProcess> {
    const done = await startNode([MAIN, "replay", "--log", log, "--config", config, ...more]);
    await done.exited;
    return done;
  }

  beforeAll(async () => {
    [steady, flaky] = [await createScriptedProvider(), await createScriptedProvider()];
    steady.answer(OK("hello"));
    flaky.answer(BROKEN);
    recorded = configFile("recorded.yaml", [1, 1], { retry: { max_retries: 1, initial_backoff: "1ms" } });
    const env = { REPLAY_KEY: KEY, SWITCHYARD_DECISION_LOG: log };
    const node = await startNode([MAIN, "serve", "--config", recorded], { env, ready: /^ready / });
    const [, url = ""] = /^ready .*\bhttp=(\S+)/m.exec(node.stdout) ?? [];
    for (let call = 0; call < REQUESTS; call += 1) {
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { authorization: `Bearer ${KEY}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "chat", messages: [{ role: "user", content: PROMPT }] }),
      });
      if (!response.ok) throw new Error(`answered ${response.status}`);
      await response.arrayBuffer();
    }
    await node.stop();
  });
  afterAll(async () => {
    await steady.close();
    await flaky.close();
  });

  it("is given a log of names and sizes: no key, no prompt (invariant 9)", () => {
    const text = readFileSync(log, "utf8");
    for (const secret of [KEY, PROMPT, "hello"]) expect(text).not.toContain(secret);
    expect(text.split("\n").filter((line) => line.includes('"usage"'))).toHaveLength(REQUESTS);
  });

  it("invariant 1: confirms every decision of a real run, bit for bit", async () => {
    const done = await replay(recorded, "--verify");
    expect(done.stderr).toBe("");
    const [, same, all] = /^(\d+) of (\d+) decisions come out the same/.exec(done.stdout) ?? [];
    expect(same).toBe(all);
    expect(Number(all)).toBeGreaterThan(REQUESTS);
    expect((await done.exited).code).toBe(0);

    const other = await replay(configFile("other.yaml", [1, 2]), "--verify");
    expect((await other.exited).code).toBe(1);
    expect(other.stderr).toMatch(/decisions are not confirmed\n\d+ were made on config [0-9a-f]{12}; /);
  });

  it("shows that nothing moves under the same config, and what does under another, twice the same", async () => {
    const same = JSON.parse((await replay(recorded, "--json")).stdout) as Report;
    expect(same).toMatchObject({ moved: 0, changes: { share: 0, cost: 0, failureRate: 0 } });
    expect(same.log.requests).toBe(REQUESTS);

    const candidate = configFile("candidate.yaml", [0, 1]);
    const [once, again] = [await replay(candidate, "--json"), await replay(candidate, "--json")];
    expect(again.stdout).toBe(once.stdout);
    const report = JSON.parse(once.stdout) as Report;
    const b = report.deployments.find(({ deployment }) => deployment === "b/m");
    expect(report.moved).toBeGreaterThan(0);
    // What never went well in the log goes no better under the candidate, and nobody else is there to answer.
    expect(report.total.after).toMatchObject({ answered: 0 });
    expect(b?.after.failed).toBe(b?.after.calls);
  });

  it("exits 1 past the limits that it is given, and says which", async () => {
    const candidate = configFile("candidate.yaml", [0, 1]);
    const limits = ["--max-share-change", "10", "--max-cost-change", "5", "--max-failure-rate", "1"];
    const past = await replay(candidate, ...limits);
    expect((await past.exited).code).toBe(1);
    expect(past.stderr).toMatch(
      /^switchyard: past the given limits\na share moves .*\nthe price moves .*\n100\.00 % of the requests /,
    );
    expect(past.stdout).toMatch(/^changes +share /m);
    expect((await (await replay(recorded, ...limits)).exited).code).toBe(0);
  });

  it("names the line that is malformed, leaves out one that is half written, and names faults of the config", async () => {
    appendFileSync(log, '{"kind":"decision","id"');
    const torn = await replay(recorded, "--verify");
    expect(torn.stderr).toMatch(/^warning: .*: the last line is not whole; left out\n$/);
    expect((await torn.exited).code).toBe(0);

    const lines = readFileSync(log, "utf8").split("\n").length;
    appendFileSync(log, "\n");
    const malformed = await replay(recorded);
    expect((await malformed.exited).code).toBe(1);
    expect(malformed.stderr).toBe(`switchyard: ${log}:${lines}: no JSON\n`);

    const bad = join(folder, "bad.yaml");
    writeFileSync(bad, "groups: [{ name: g, deployments: [] }]");
    const faulty = await replay(bad);
    expect((await faulty.exited).code).toBe(1);
    expect(faulty.stderr).toMatch(/is not a valid config: 1 fault\ngroups\[0\]\.deployments: /);
  });

  it("a router that is started again goes on behind the last whole line", async () => {
    const before = readFileSync(log, "utf8");
    appendFileSync(log, '{"kind":"outcome","deci');
    const env = { REPLAY_KEY: KEY, SWITCHYARD_DECISION_LOG: log };
    await using node = await startNode([MAIN, "serve", "--config", recorded], { env, ready: /^ready / });
    await eventually(() => expect(readFileSync(log, "utf8")).toBe(before));
    expect(await node.stop()).toEqual({ code: 0, signal: null });

    const notOurs = join(folder, "notes.txt");
    writeFileSync(notOurs, "something else");
    const refused = await startNode([MAIN, "serve", "--config", recorded], {
      env: { ...env, SWITCHYARD_DECISION_LOG: notOurs },
    });
    expect((await refused.exited).code).toBe(1);
    expect(refused.stderr).toContain(`switchyard: SWITCHYARD_DECISION_LOG: ${notOurs} is no decision log\n`);
    expect(readFileSync(notOurs, "utf8")).toBe("something else");
  });
});
