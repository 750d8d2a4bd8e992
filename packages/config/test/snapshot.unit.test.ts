import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Config } from "@switchyard/proto/config/v1/config";
import { describe, expect, onTestFinished, test } from "vitest";
import {
  compileSnapshot,
  configHash,
  processSecrets,
  readProviders,
  resolveSecret,
  sha256Hex,
  validateConfig,
} from "../src/index.ts";
import type { Fault, SecretSource } from "../src/index.ts";
import { BASE } from "./support/base.ts";

const SECRETS: SecretSource = {
  env: (name) => ({ TEAM_A: "sk-team-a", TWIN: "sk-team-a" })[name],
  file: (path) => (path === "/keys/b" ? "sk-team-b" : undefined),
};

function valid(parts: object): Config {
  const { config, faults } = validateConfig(JSON.stringify({ ...BASE, ...parts }));
  if (config === undefined) throw new Error(JSON.stringify(faults));
  return config;
}

function compile(parts: object) {
  const warnings: Fault[] = [];
  const options = { revision: 7, secrets: SECRETS, onWarning: (warning: Fault) => warnings.push(warning) };
  return { snapshot: compileSnapshot(valid(parts), options), warnings };
}

const PROVIDERS = [
  {
    name: "OpenAI",
    family: "openai",
    credential: { env: "OPENAI_KEY" },
    organization: "org",
    project: "proj",
  },
  {
    name: "local",
    family: "openai_compatible",
    base_url: "http://127.0.0.1:8000/v1/",
    endpoints: ["embeddings"],
  },
];

describe("groups", () => {
  const groups = [
    {
      name: "chat",
      deployments: [
        {
          provider: "OPENAI",
          model: "GPT-5",
          weight: 3,
          price: { input: 1.25, output: 10 },
          limits: { tpm: 900 },
        },
        { provider: "openai", model: "GPT-5", id: "second", paused: true },
      ],
      policy: { fallback: { general: "embed" } },
    },
    {
      name: "embed",
      type: "embedding",
      deployments: [
        { provider: "local", model: "e" },
        { provider: "local", model: "e", id: "x", type: "chat" },
      ],
    },
    { name: "chat", project: "other", deployments: [{ provider: "openai", model: "GPT-5" }] },
  ];
  const { snapshot } = compile({ providers: PROVIDERS, groups });

  test("are found by project and name, deployments in the order of the file", () => {
    expect([...snapshot.groups.keys()]).toEqual(["default/chat", "default/embed", "other/chat"]);
    expect(snapshot.groups.get("default/chat")?.deployments.map(({ id }) => id)).toEqual([
      "openai/GPT-5",
      "second",
    ]);
  });

  test("providers compare without regard to case; models are spelled as the vendor does", () => {
    expect(snapshot.groups.get("default/chat")?.deployments[0]).toEqual({
      id: "openai/GPT-5",
      provider: "openai",
      model: "GPT-5",
      family: "openai",
      weight: 3,
      paused: false,
      type: undefined,
      price: { input: 1.25, output: 10 },
      limits: { rpm: undefined, tpm: 900 },
      native: new Set(["chat", "embeddings", "responses"]),
      stores: true,
      translated: new Set(["messages"]),
      scopes: { deployment: "d:default/chat:openai/GPT-5", model: "m:openai/GPT-5", provider: "p:openai" },
    });
  });

  test("R4 a group's type is its deployments' default; an account's endpoints narrow its family's", () => {
    const embed = snapshot.groups.get("default/embed");
    expect(embed?.deployments.map(({ type }) => type)).toEqual(["embedding", "chat"]);
    expect(embed?.deployments[0]?.native).toEqual(new Set(["embeddings"]));
  });

  test("R5 native endpoints are found by path, with the families that serve them", () => {
    const native_endpoints = [
      { path: "/v1/systemone", provider_families: ["openai_compatible", "gemini"] },
      { path: "/v2/x", provider_families: ["vertex"] },
    ];
    const found = compile({ providers: PROVIDERS, groups, native_endpoints }).snapshot.nativeEndpoints;
    expect(found).toEqual(
      new Map([
        ["/v1/systemone", new Set(["openai_compatible", "gemini"])],
        ["/v2/x", new Set(["vertex"])],
      ]),
    );
  });

  test("R9 each provider and model of a project has a group of one, without fallbacks or ids of its group", () => {
    expect([...snapshot.direct.keys()]).toEqual([
      "default//openai/GPT-5",
      "default//local/e",
      "other//openai/GPT-5",
    ]);
    const direct = snapshot.direct.get("default//openai/GPT-5");
    expect(direct).toMatchObject({ name: "openai/GPT-5", project: "default", key: "default//openai/GPT-5" });
    expect(direct?.deployments).toHaveLength(1);
    expect(direct?.deployments[0]).toMatchObject({ id: "openai/GPT-5", weight: 1 });
    expect(direct?.deployments[0]?.scopes.model).toBe("m:openai/GPT-5");
    expect(direct?.policy.fallback.general).toBeUndefined();
  });

  test("G3 default fallbacks go by project", () => {
    const projects = [{ name: "default", default_fallbacks: ["chat"] }];
    expect(compile({ projects }).snapshot.defaultFallbacks).toEqual(new Map([["default", ["chat"]]]));
  });
});

describe("keys", () => {
  const secret = (source: object, more: object = {}) => ({ name: "k", secret: source, ...more });

  test("are found by the SHA-256 of their secret, wherever that stands", () => {
    const keys = [
      secret({ env: "TEAM_A" }),
      { ...secret({ file: "/keys/b" }), name: "b" },
      { ...secret({ sha256: sha256Hex("sk-c").toUpperCase() }), name: "c" },
    ];
    const { snapshot, warnings } = compile({ keys });
    const found = ["sk-team-a", "sk-team-b", "sk-c"].map((each) => snapshot.keys.get(sha256Hex(each))?.name);
    expect(found).toEqual(["k", "b", "c"]);
    expect(warnings).toEqual([]);
  });

  test("have every field set", () => {
    const keys = [
      secret(
        { env: "TEAM_A" },
        {
          team: "t",
          groups: ["chat"],
          ignore_model: true,
          allow_direct: true,
          recording: "usage_only",
          roles: ["project_admin"],
          user: { sub: "u-1", data: { plan: { name: "x" } } },
          metadata: { region: "eu" },
        },
      ),
    ];
    expect([...compile({ keys, teams: [{ name: "t" }] }).snapshot.keys.values()]).toEqual([
      {
        name: "k",
        project: "default",
        team: "t",
        groups: ["chat"],
        grants: new Set(["chat"]),
        ignoreModel: true,
        allowDirect: true,
        roles: new Set(["project_admin"]),
        recording: "usage_only",
        user: { sub: "u-1", data: { plan: { name: "x" } } },
        metadata: { region: "eu" },
      },
    ]);
    expect([...compile({ keys: [secret({ env: "TEAM_A" })] }).snapshot.keys.values()][0]).toMatchObject({
      roles: new Set(["caller"]),
      recording: "full",
      team: undefined,
    });
  });

  test("one whose secret is not there is left out, with a warning that names the variable", () => {
    const { snapshot, warnings } = compile({
      keys: [secret({ env: "NOWHERE" }), { ...secret({ file: "/no" }), name: "b" }],
    });
    expect(snapshot.keys.size).toBe(0);
    expect(warnings).toEqual([
      { path: "keys[0].secret", message: 'environment variable NOWHERE is not there; key "k" is left out' },
      { path: "keys[1].secret", message: 'file /no is not there; key "b" is left out' },
    ]);
  });

  test("two with the same secret: the first is kept, and the warning does not show it", () => {
    const { snapshot, warnings } = compile({
      keys: [secret({ env: "TEAM_A" }), { ...secret({ env: "TWIN" }), name: "twin" }],
    });
    expect([...snapshot.keys.values()].map(({ name }) => name)).toEqual(["k"]);
    expect(warnings[0]?.path).toBe("keys[1].secret");
    expect(JSON.stringify(warnings)).not.toContain("sk-team-a");
  });

  test("open access has a key that may call every group of project default", () => {
    const groups = [
      ...BASE.groups,
      { ...BASE.groups[0], name: "b" },
      { ...BASE.groups[0], project: "other" },
    ];
    expect(compile({ groups }).snapshot.openKey).toBeUndefined();
    const { openKey } = compile({ groups, runtime: { auth: "open" } }).snapshot;
    expect(openKey).toMatchObject({
      name: "open",
      project: "default",
      groups: ["chat", "b"],
      grants: new Set(["chat", "b"]),
    });
  });
});

describe("the hash", () => {
  test("is 12 hexadecimal digits, the same however the config is written, and leaves `runtime` out", () => {
    const yaml = validateConfig(`
groups: [{ deployments: [{ model: gpt-5, provider: openai }], name: chat }]
providers: [{ family: FAMILY_OPENAI, name: openai, credential: { env: OPENAI_KEY } }]
runtime: { drain: 5s }`).config;
    expect(configHash(valid({}))).toMatch(/^[0-9a-f]{12}$/);
    expect(yaml && configHash(yaml)).toBe(configHash(valid({})));
    expect(compile({}).snapshot).toMatchObject({ revision: 7, hash: configHash(valid({})) });
  });

  test("changes with the content", () => {
    expect(configHash(valid({ teams: [{ name: "t" }] }))).not.toBe(configHash(valid({})));
  });
});

test("providers as forwarders need them", () => {
  expect(readProviders(valid({ providers: PROVIDERS }))).toMatchObject([
    {
      name: "openai",
      family: "openai",
      baseUrl: undefined,
      credential: { from: "env", name: "OPENAI_KEY" },
      organization: "org",
      project: "proj",
      endpoints: undefined,
    },
    {
      name: "local",
      family: "openai_compatible",
      baseUrl: "http://127.0.0.1:8000/v1",
      credential: { from: "none" },
      endpoints: ["embeddings"],
    },
  ]);
});

test("secrets are read from the environment and from files, white space cut off; empty is missing", () => {
  const folder = mkdtempSync(join(tmpdir(), "config-secrets-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, "key"), "  sk-file\n");
  writeFileSync(join(folder, "empty"), "\n");
  const resolve = (path: string) => resolveSecret({ from: "file", path }, processSecrets);
  expect(resolve(join(folder, "key"))).toEqual({ kind: "secret", secret: "sk-file" });
  expect(resolve(join(folder, "empty"))).toEqual({
    kind: "missing",
    reference: `file ${join(folder, "empty")}`,
  });
  for (const other of [folder, "/dev/zero"]) expect(resolve(other).kind).toBe("missing");
  expect(resolveSecret({ from: "none" }, processSecrets)).toEqual({ kind: "none" });
  process.env["SNAPSHOT_TEST_KEY"] = " sk-1\n";
  expect(resolveSecret({ from: "env", name: "SNAPSHOT_TEST_KEY" }, processSecrets)).toMatchObject({
    secret: "sk-1",
  });
  process.env["SNAPSHOT_TEST_KEY"] = " \n";
  expect(resolveSecret({ from: "env", name: "SNAPSHOT_TEST_KEY" }, processSecrets).kind).toBe("missing");
  delete process.env["SNAPSHOT_TEST_KEY"];
  expect(resolveSecret({ from: "env", name: "SURELY_NOT_SET_ANYWHERE" }, processSecrets).kind).toBe(
    "missing",
  );
});
