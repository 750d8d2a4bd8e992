import { formatFault, resolvePolicy, validateConfig } from "@switchyard/config";
import { SERVICES } from "@switchyard/standalone";
import {
  BROKEN,
  createScriptedProvider,
  embeddings,
  eventually,
  freePort,
  json,
  type ManagedProcess,
  OK,
  type ScriptedProvider,
} from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, stringify } from "yaml";
import { startNatsServer } from "../support/nats-server.ts";
import { addressOf, chat, runBlock, startLine, Workplace } from "./readme-commands.ts";
import {
  CLUSTER,
  CONFIG,
  EXPLAIN,
  FOUR,
  NATIVE,
  POLICY,
  PRICE,
  REPLAY,
  VALIDATE_AND_SERVE,
} from "./readme-examples.ts";

const SECRETS = {
  AZURE_EASTUS_KEY: "azure-secret",
  OPENAI_API_KEY: "openai-secret",
  TEAM_A_KEY: "team-secret",
};

const files = new Workplace();
afterAll(() => files.remove());

describe("README: the config", () => {
  const [validate = "", serve = ""] = VALIDATE_AND_SERVE.trim().split("\n");
  let azure: ScriptedProvider;
  let openai: ScriptedProvider;

  beforeAll(async () => {
    [azure, openai] = [await createScriptedProvider(), await createScriptedProvider()];
  });
  afterAll(async () => {
    await azure.close();
    await openai.close();
  });

  /** The config with the accounts' addresses replaced by scripted ones. */
  function atProviders(config: string): string {
    return config
      .replace("https://example-eastus.openai.azure.com", azure.url)
      .replace("family: openai\n", `family: openai\n    base_url: ${openai.url}/v1\n`);
  }

  function serving(env: Readonly<Record<string, string>>, config = CONFIG): Promise<ManagedProcess> {
    const listen = "{ http: 127.0.0.1:0, rpc: 127.0.0.1:0, ops: 127.0.0.1:0 }";
    files.write("switchyard.yaml", `${atProviders(config)}runtime:\n  listen: ${listen}\n`);
    return startLine(serve, { cwd: files.folder, env });
  }

  it("is valid as it stands", async () => {
    files.write("switchyard.yaml", CONFIG);
    expect(await runBlock(validate, files.folder)).toEqual({
      stdout: "switchyard.yaml is valid: 2 providers, 2 groups, 1 key\n",
      stderr: "",
    });
  });

  it("is served by both accounts, and either stands in for the other", async () => {
    for (const provider of [azure, openai]) provider.answer(OK("hello"));
    await using node = await serving(SECRETS);
    const ask = (): Promise<Response> => chat(addressOf(node, "http"), SECRETS.TEAM_A_KEY, "chat");
    // By chance of 0.7 to the power of 80 one of them would not be asked.
    for (let call = 0; call < 80 && (azure.calls.length === 0 || openai.calls.length === 0); call += 1) {
      expect((await ask()).status).toBe(200);
    }
    expect(azure.calls[0]?.path).toBe("/openai/deployments/gpt-5/chat/completions?api-version=2024-10-21");
    expect(azure.calls[0]?.header("api-key")).toBe(SECRETS.AZURE_EASTUS_KEY);
    expect(openai.calls[0]?.path).toBe("/v1/chat/completions");
    expect(openai.calls[0]?.header("authorization")).toBe(`Bearer ${SECRETS.OPENAI_API_KEY}`);
    expect(openai.calls[0]?.json()).toMatchObject({ model: "gpt-5" });

    azure.answer(BROKEN);
    azure.clearCalls();
    for (let call = 0; call < 80 && azure.calls.length === 0; call += 1)
      expect((await ask()).status).toBe(200);
    expect(azure.calls.length).toBeGreaterThan(0);

    openai.clearCalls();
    openai.answer(embeddings([[0.25, 0.5]]));
    const embedded = await fetch(`http://${addressOf(node, "http")}/v1/embeddings`, {
      method: "POST",
      headers: { authorization: `Bearer ${SECRETS.TEAM_A_KEY}`, "content-type": "application/json" },
      body: JSON.stringify({ model: "embed", input: "a text", encoding_format: "float" }),
    });
    expect(await embedded.json()).toMatchObject({ data: [{ embedding: [0.25, 0.5] }] });
    expect(openai.calls[0]?.json()).toMatchObject({ model: "text-embedding-3-large" });
  });

  it("R10: passes over an account whose variable is not set, and the log says so", async () => {
    openai.answer(OK("hello"));
    azure.clearCalls();
    await using node = await serving({ ...SECRETS, AZURE_EASTUS_KEY: "" });
    await node.waitForLine(/AZURE_EASTUS_KEY.*not ready/);
    for (let call = 0; call < 5; call += 1) {
      expect((await chat(addressOf(node, "http"), SECRETS.TEAM_A_KEY, "chat")).status).toBe(200);
    }
    expect(azure.calls).toEqual([]);
  });

  it("explains how a request is routed", async () => {
    files.write("switchyard.yaml", CONFIG);
    const { stdout } = await runBlock(EXPLAIN, files.folder);
    expect(stdout).toMatch(/^caller +team-a$/m);
    expect(stdout).toMatch(/^ +(chosen|eligible) +azure-eastus\/gpt-5 +score 0\.7$/m);
    expect(stdout).toMatch(/^ +(chosen|eligible) +openai\/gpt-5 +score 0\.3$/m);
  });

  it("replays what it has logged: confirmed on its own config, and compared under a candidate", async () => {
    for (const provider of [azure, openai]) provider.answer(OK("hello"));
    const [record = "", confirm = "", compare = ""] = REPLAY.trim().split("\n");
    const [, variable = "", log = "", start = ""] = /^(\w+)=(\S+) (.*)$/.exec(record) ?? [];
    expect(start).toBe(serve);
    const node = await serving({ ...SECRETS, [variable]: log });
    for (let call = 0; call < 10; call += 1) {
      expect((await chat(addressOf(node, "http"), SECRETS.TEAM_A_KEY, "chat")).status).toBe(200);
    }
    await node.stop();
    expect((await runBlock(confirm, files.folder)).stdout).toMatch(/^10 of 10 decisions come out the same/);

    const candidate = atProviders(CONFIG).replace("weight: 70", "weight: 0");
    files.write("candidate.yaml", candidate);
    const { stdout } = await runBlock(compare, files.folder);
    expect(stdout).toMatch(/^default\/chat openai\/gpt-5 +\d+\.\d\d -> 100\.00 /m);
  });

  it("takes a price for each kind of token", () => {
    const priced = CONFIG.replace("price: { input: 1.25, output: 10 }", PRICE.trim());
    const { config, faults } = validateConfig(priced);
    expect(faults.map(formatFault)).toEqual([]);
    const { price } = parse(PRICE) as { price: object };
    expect(config?.groups[0]?.deployments[0]?.price).toMatchObject({
      input: 3,
      cachedInput: 0.3,
      cacheWrite: 3.75,
    });
    expect(Object.keys(price)).toHaveLength(6);
  });

  it("takes the policy as a preset with the fields over it", () => {
    const config = parse(CONFIG, { version: "1.2" }) as {
      groups: { policy?: object; deployments: object[] }[];
    };
    const { policy } = parse(POLICY, { version: "1.2" }) as { policy: { preset: string } };
    const [group] = config.groups;
    const backup = { name: "chat-backup", deployments: group?.deployments };
    const read = (own: object) => {
      const groups = [{ ...group, policy: own }, ...config.groups.slice(1), backup];
      const found = validateConfig(stringify({ ...config, groups }, { version: "1.2" }));
      expect(found.faults.map(formatFault)).toEqual([]);
      return resolvePolicy(found.config?.groups[0]?.policy);
    };
    const preset = read({ preset: policy.preset });
    expect(read(policy)).toEqual({
      ...preset,
      retry: { ...preset.retry, maxRetries: 1 },
      requestTimeoutMs: 30_000,
      bench: { ...preset.bench, failures: 3, windowMs: 60_000, cooloffMs: 30_000 },
      fallback: { ...preset.fallback, general: "chat-backup" },
    });
  });

  it("forwards an endpoint that it knows by the config alone", async () => {
    for (const provider of [azure, openai]) {
      provider.answer(json(200, { data: [{ b64_json: "iVBORw==" }] }));
      provider.clearCalls();
    }
    await using node = await serving(SECRETS, `${CONFIG}${NATIVE}`);
    const { path = "" } =
      (parse(NATIVE) as { native_endpoints: { path: string }[] }).native_endpoints[0] ?? {};
    const answer = await fetch(`http://${addressOf(node, "http")}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${SECRETS.TEAM_A_KEY}` },
      body: '{ "prompt":"a cat","model":"chat" }',
    });
    expect(await answer.json()).toEqual({ data: [{ b64_json: "iVBORw==" }] });
    const calls = [...azure.calls, ...openai.calls];
    expect(calls.map(({ body }) => body.toString())).toEqual(['{ "prompt":"a cat","model":"gpt-5" }']);
    expect(calls[0]?.path).toMatch(/\/images\/generations(?:\?|$)/u);
  });

  it("serves as four processes on NATS", async () => {
    for (const provider of [azure, openai]) {
      provider.answer(OK("hello"));
      provider.clearCalls();
    }
    await using owner = new AsyncDisposableStack();
    const nats = await startNatsServer();
    owner.defer(() => nats.stop());
    const shown = [...new Set(`${CLUSTER}${FOUR}`.match(/127\.0\.0\.1:\d+/g))];
    const free = new Map<string, string>();
    for (const address of shown) free.set(address, `127.0.0.1:${await freePort()}`);
    free.set("127.0.0.1:4222", `127.0.0.1:${nats.port}`);
    const here = (text: string): string => text.replaceAll(/127\.0\.0\.1:\d+/g, (at) => free.get(at) ?? at);

    const lines = FOUR.trim().split("\n");
    const started: string[] = [];
    await Promise.all(
      lines.map(async (line) => {
        const [, service = "", name = "", listen = ""] =
          /^pnpm switchyard (\w+) --config (\S+)\s+# (listen: .*)$/.exec(line) ?? [];
        // The file of a service: the shared part, its `listen` in the same `runtime`, and the config.
        files.write(name, `${here(CLUSTER)}  ${here(listen)}\n${atProviders(CONFIG)}`);
        owner.use(await startLine(line, { cwd: files.folder, env: SECRETS }));
        started.push(service);
      }),
    );
    expect(started.toSorted()).toEqual(SERVICES.toSorted());
    const facade = here("127.0.0.1:8080");
    await eventually(async () => expect((await chat(facade, SECRETS.TEAM_A_KEY, "chat")).status).toBe(200), {
      within: 15_000,
    });
    for (let call = 0; call < 80 && (azure.calls.length === 0 || openai.calls.length === 0); call += 1) {
      expect((await chat(facade, SECRETS.TEAM_A_KEY, "chat")).status).toBe(200);
    }
    expect([azure.calls.length, openai.calls.length]).not.toContain(0);
  });
});
