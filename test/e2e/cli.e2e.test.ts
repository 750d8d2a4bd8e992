import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  BROKEN,
  CH,
  collectSse,
  createScriptedProvider,
  DONE,
  eventually,
  freePort,
  headerOf,
  type ManagedProcess,
  OK,
  rawHttp,
  rawRequest,
  ROLE,
  sse,
  startNode,
  until,
} from "@switchyard/testkit";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startNatsServer } from "../support/nats-server.ts";

const MAIN = "services/standalone/src/main.ts";
const KEY = "sk-test";
const ANY_PORTS = { http: "127.0.0.1:0", rpc: "127.0.0.1:0", ops: "127.0.0.1:0" };

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "switchyard-cli-"));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** A config file for one provider, JSON being YAML. */
function configFile(
  providerUrl: string,
  options: { groups?: readonly string[]; runtime?: object; native?: readonly object[] } = {},
): string {
  const groups = options.groups ?? ["chat"];
  const path = join(folder, "config.yaml");
  const config = {
    runtime: { listen: ANY_PORTS, drain: "10s", ...options.runtime },
    providers: [
      { name: "p", family: "openai_compatible", base_url: `${providerUrl}/v1`, credential: { none: true } },
    ],
    groups: groups.map((name) => ({ name, deployments: [{ provider: "p", model: "m" }] })),
    keys: [{ name: "k", secret: { env: "TEST_KEY" }, groups, roles: ["caller", "account_admin"] }],
    native_endpoints: options.native ?? [],
  };
  writeFileSync(path, JSON.stringify(config));
  return path;
}

const env = { TEST_KEY: KEY, SWITCHYARD_ADMIN_KEY: KEY };
const switchyard = (...args: string[]): Promise<ManagedProcess> => startNode([MAIN, ...args], { env });
const serving = (...args: string[]): Promise<ManagedProcess> =>
  startNode([MAIN, ...args], { env, ready: /^ready / });

function urlOf(node: ManagedProcess, listener: string): string {
  return new RegExp(`^ready .*\\b${listener}=(\\S+)`, "m").exec(node.stdout)?.[1] ?? "";
}

function chat(node: ManagedProcess, body: object = {}, key = KEY): Promise<Response> {
  return fetch(`${urlOf(node, "http")}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }], ...body }),
  });
}

/** How many attempts a request took that came over a connection of its own. */
async function attemptsOnNewConnection(node: ManagedProcess): Promise<number> {
  const { host, port } = new URL(urlOf(node, "http"));
  const body = JSON.stringify({ model: "chat", messages: [{ role: "user", content: "Hi" }] });
  await using client = await rawHttp(Number(port), [
    rawRequest(
      "POST",
      "/v1/chat/completions",
      [
        ["Host", host],
        ["x-api-key", KEY],
      ],
      body,
    ),
  ]);
  const { headers } = await client.response();
  return (JSON.parse(headerOf(headers, "x-ants-attempts") ?? "[]") as unknown[]).length;
}

async function modelsOf(node: ManagedProcess): Promise<string[]> {
  const response = await fetch(`${urlOf(node, "http")}/v1/models`, { headers: { "x-api-key": KEY } });
  const { data } = (await response.json()) as { data: { id: string }[] };
  return data.map(({ id }) => id);
}

describe("switchyard quickstart", () => {
  it("prints a request that works, and whose first answer shows a failover", async () => {
    const ports = Object.keys(ANY_PORTS).flatMap((name) => [`--${name}`, "127.0.0.1:0"]);
    await using node = await serving("quickstart", ...ports);
    const [curl] = await node.waitForLine(/^curl .*$/);
    const [, url = "", authorization = "", body = ""] =
      /^curl -si (\S+) -H 'authorization: ([^']+)' -H 'content-type: application\/json' -d '([^']+)'$/.exec(
        curl,
      ) ?? [];
    const headers = { authorization, "content-type": "application/json" };

    const response = await fetch(url, { method: "POST", headers, body });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({ object: "chat.completion" });
    expect(JSON.parse(response.headers.get("x-ants-attempts") ?? "")).toMatchObject([
      { deployment: "demo-flaky/demo-1", outcome: "retryable", status: 503, error: "overloaded" },
      { deployment: "demo-steady/demo-1", outcome: "ok", status: 200 },
    ]);

    const streamed = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify({ ...(JSON.parse(body) as object), stream: true, max_tokens: 3 }),
    });
    expect(await collectSse(streamed)).toMatchObject({ done: true, text: "Hello from the" });

    const embedded = await fetch(url.replace("chat/completions", "embeddings"), {
      method: "POST",
      headers,
      body: JSON.stringify({ model: "demo", input: ["a", "b"] }),
    });
    expect(await embedded.json()).toMatchObject({ data: [{ index: 0 }, { index: 1 }] });
    expect(await node.stop()).toEqual({ code: 0, signal: null });
  });
});

describe("switchyard validate", () => {
  it("names every fault by its path and exits 1; 0 when there is none", async () => {
    const path = configFile("http://127.0.0.1:1");
    const good = await switchyard("validate", path);
    expect((await good.exited).code).toBe(0);
    expect(good.stdout).toBe(`${path} is valid: 1 provider, 1 group, 1 key\n`);

    writeFileSync(
      path,
      "groups: [{ name: g, polcy: {}, deployments: [{ provider: x, model: m }] }]\nkeys: 3\n",
    );
    const bad = await switchyard("validate", path);
    expect((await bad.exited).code).toBe(1);
    const paths = bad.stdout
      .trim()
      .split("\n")
      .map((line) => line.split(": ")[0]);
    expect(paths).toEqual(
      expect.arrayContaining(["groups[0].polcy", "groups[0].deployments[0].provider", "keys"]),
    );
  });
});

describe("switchyard serve", () => {
  it("ends with one clear line and the faults on a bad config, and on an occupied port", async () => {
    const path = configFile("http://127.0.0.1:1", { groups: ["not a group\n"] });
    const bad = await switchyard("serve", "--config", path);
    expect((await bad.exited).code).toBe(1);
    expect(bad.stderr).toMatch(/^switchyard: .* is not a valid config: .*\ngroups\[0\]\.name: /);

    await using first = await serving("serve", "--config", configFile("http://127.0.0.1:1"));
    const taken = new URL(urlOf(first, "http")).host;
    const second = await switchyard(
      "serve",
      "--config",
      configFile("http://127.0.0.1:1", { runtime: { listen: { ...ANY_PORTS, http: taken } } }),
    );
    expect((await second.exited).code).toBe(1);
    expect(second.stderr).toMatch(new RegExp(`^switchyard: http address ${taken} is already in use; .*\\n$`));
    expect(second.stdout).toBe("");
  });

  it("lets a running stream finish on SIGTERM, is not ready meanwhile, and exits 0", async () => {
    await using provider = await createScriptedProvider();
    const goOn = Promise.withResolvers<void>();
    provider.answer(() =>
      sse([ROLE, CH({ content: "one" }), until(goOn.promise), CH({ content: " two" }, "stop"), DONE]),
    );
    await using node = await serving("serve", "--config", configFile(provider.url));
    expect(await fetch(`${urlOf(node, "ops")}/readyz`)).toMatchObject({ status: 200 });

    const response = await chat(node, { stream: true });
    node.kill("SIGTERM");
    await eventually(async () => {
      expect(await fetch(`${urlOf(node, "ops")}/readyz`)).toMatchObject({ status: 503 });
    });
    await expect(chat(node)).rejects.toThrow("fetch failed");
    goOn.resolve();
    expect(await collectSse(response)).toMatchObject({ text: "one two", done: true });
    expect(await node.exited).toEqual({ code: 0, signal: null });
  });

  it("takes an edit of the file within a second, and keeps the last good one when an edit is wrong", async () => {
    await using node = await serving("serve", "--config", configFile("http://127.0.0.1:1"));
    expect(await modelsOf(node)).toEqual(["chat"]);
    const path = configFile("http://127.0.0.1:1", { groups: ["chat", "more"] });
    await eventually(async () => expect(await modelsOf(node)).toEqual(["chat", "more"]));
    writeFileSync(path, "groups: [{ name: only, deployments: [] }]");
    await node.waitForLine(/groups\[0\]\.deployments.*is refused/);
    writeFileSync(path, "");
    await node.waitForLine(/names no groups.*is refused/);
    expect(await modelsOf(node)).toEqual(["chat", "more"]);
  });

  it("shares its ports between workers, which honour each other's benches, and replaces one that dies", async () => {
    await using provider = await createScriptedProvider();
    provider.answer(BROKEN);
    await using node = await serving("serve", "--config", configFile(provider.url), "--workers", "2");
    const ready = async (): Promise<unknown> => (await fetch(`${urlOf(node, "ops")}/readyz`)).json();
    expect(await ready()).toMatchObject({ status: "ready", workers: 2, workers_ready: 2 });

    // Three failures bench the deployment; connections go to the workers in turn.
    expect(await attemptsOnNewConnection(node)).toBe(3);
    await eventually(async () => {
      const both = [await attemptsOnNewConnection(node), await attemptsOnNewConnection(node)];
      expect(both).toEqual([1, 1]);
    });
    const metrics = await (await fetch(`${urlOf(node, "ops")}/metrics`)).text();
    expect(metrics).toContain('switchyard_benches{scope="deployment"} 1');

    const [, pid = ""] = await node.waitForLine(/"worker":2,"pid":(\d+)/);
    process.kill(Number(pid), "SIGKILL");
    await node.waitForLine(/"worker":3,"pid"/);
    await eventually(async () => expect(await ready()).toMatchObject({ workers_ready: 2 }));
    expect(await node.stop()).toEqual({ code: 0, signal: null });
  });

  it("closes a connection that was given to a worker which died before it took it", async () => {
    await using node = await serving("serve", "--config", configFile("http://127.0.0.1:1"), "--workers", "2");
    const [, pid = ""] = await node.waitForLine(/"worker":1,"pid":(\d+)/);
    process.kill(Number(pid), "SIGSTOP");
    const fates: string[] = [];
    for (let i = 0; i < 4; i += 1) {
      const signal = AbortSignal.timeout(20_000);
      const headers = { authorization: `Bearer ${KEY}`, connection: "close" };
      void fetch(`${urlOf(node, "http")}/v1/models`, { headers, signal }).then(
        ({ status }) => fates.push(String(status)),
        (error: Error) => fates.push(error.name === "TimeoutError" ? "hung" : "closed"),
      );
    }
    // One waits at the worker that stopped, all others are the other one's.
    await eventually(() => expect(fates).toEqual(["200", "200", "200"]));
    process.kill(Number(pid), "SIGKILL");
    await eventually(() => expect(fates.slice(3)).toEqual(["closed"]));
    expect(await modelsOf(node)).toEqual(["chat"]);
  });

  it("goes on when the channel to a worker breaks before that worker's end is known", async () => {
    const script =
      'import cluster from "node:cluster";' +
      'cluster.on("listening",(worker)=>worker.emit("error",new Error("write EPIPE")))';
    const options = `--import="data:text/javascript,${encodeURIComponent(script)}"`;
    const args = [MAIN, "serve", "--config", configFile("http://127.0.0.1:1"), "--workers", "2"];
    await using node = await startNode(args, { ready: /^ready/, env: { ...env, NODE_OPTIONS: options } });
    expect(await modelsOf(node)).toEqual(["chat"]);
    expect(await node.stop()).toEqual({ code: 0, signal: null });
  });

  it("drains a worker too that was starting when the drain began", async () => {
    await using node = await serving("serve", "--config", configFile("http://127.0.0.1:1"), "--workers", "2");
    const [, pid = ""] = await node.waitForLine(/"worker":2,"pid":(\d+)/);
    process.kill(Number(pid), "SIGKILL");
    await node.waitForLine(/"worker":3,"pid"/);
    node.kill("SIGTERM");
    expect(await node.exited).toEqual({ code: 0, signal: null });
    expect(node.stderr).toMatch(/"worker":3,"message":"drained"/);
  });

  it("says once why its workers cannot start", async () => {
    await using first = await serving("serve", "--config", configFile("http://127.0.0.1:1"));
    const listen = { ...ANY_PORTS, http: new URL(urlOf(first, "http")).host };
    const path = configFile("http://127.0.0.1:1", { runtime: { listen } });
    const second = await switchyard("serve", "--config", path, "--workers", "2");
    expect((await second.exited).code).toBe(1);
    expect(second.stderr.split("\n").filter((line) => !line.startsWith("{"))).toEqual([
      expect.stringMatching(/^switchyard: http address \S+ is already in use; /),
      "",
    ]);
  });
});

describe("switchyard on NATS", () => {
  it("serves its file while NATS is away, joins when it comes, and follows what is applied", async () => {
    await using provider = await createScriptedProvider();
    provider.answer(OK("hello"));
    const port = await freePort();
    const runtime = { bus: { nats: { servers: [`nats://127.0.0.1:${port}`] } } };
    const path = configFile(provider.url, { runtime });
    await using node = await serving("serve", "--config", path);
    await node.waitForLine(/serving the config file/);
    expect((await chat(node)).status).toBe(200);

    const nats = await startNatsServer({ port });
    try {
      await node.waitForLine(/config revision 1 is in force/);
      const next = configFile(provider.url, { runtime, groups: ["chat", "more"] });
      const dry = await switchyard("apply", next, "--url", urlOf(node, "rpc"), "--dry-run");
      expect((await dry.exited).code).toBe(0);
      expect(dry.stdout).toContain("groups[more]: added");
      expect(await modelsOf(node)).toEqual(["chat"]);
      for (const listener of ["http", "ops"]) {
        const elsewhere = await switchyard("apply", next, "--url", urlOf(node, listener));
        expect((await elsewhere.exited).code).toBe(1);
        expect(elsewhere.stderr).toMatch(
          /^switchyard: no router to apply to: \S+ is no router's listen\.rpc \(/m,
        );
      }
      const applied = await switchyard("apply", next, "--url", urlOf(node, "rpc"));
      expect((await applied.exited).code).toBe(0);
      expect(applied.stdout).toContain("applied: revision 2 is in force");
      await eventually(async () => expect(await modelsOf(node)).toEqual(["chat", "more"]));
      await node.stop();
    } finally {
      await nats.stop();
    }
  });
});

describe("switchyard explain", () => {
  it("R8: names the chosen deployment and why, and a refusal", async () => {
    const path = configFile("http://127.0.0.1:1");
    const chosen = await switchyard("explain", "--config", path, "--key", "k", "--model", "chat");
    expect((await chosen.exited).code).toBe(0);
    expect(chosen.stdout).toMatch(/decision +pick: p\/m of group chat/);
    expect(chosen.stdout).toMatch(/chosen +p\/m +score 1/);
    const refused = await switchyard("explain", "--config", path, "--key", KEY, "--model", "x", "--json");
    expect((await refused.exited).code).toBe(1);
    expect(JSON.parse(refused.stdout)).toMatchObject({ refusal: { status: 403, code: "model_not_allowed" } });
  });

  it("R5: decides for a native endpoint of the config, and knows no other path", async () => {
    const native = [{ path: "/v1/systemone", provider_families: ["gemini"] }];
    const path = configFile("http://127.0.0.1:1", { native });
    const asked = ["explain", "--config", path, "--key", "k", "--model", "chat", "--path"];
    const refused = await switchyard(...asked, "/v1/systemone");
    expect((await refused.exited).code).toBe(1);
    expect(refused.stdout).toMatch(/needs a provider of family gemini/);
    const unknown = await switchyard(...asked, "/v1/other");
    expect((await unknown.exited).code).toBe(2);
    expect(unknown.stderr).toMatch(/--path must be one of .*\/v1\/systemone/);
  });
});
