import { createHash } from "node:crypto";
import { create, toJsonString } from "@bufbuild/protobuf";
import { GetConfigRequestSchema, ConfigService } from "@switchyard/proto/admin/v1/config_service";
import {
  HealthStateService,
  ListBenchesRequestSchema,
  ListBenchesResponseSchema,
} from "@switchyard/proto/health/v1/health_state_service";
import { CallContext, createLeanClient } from "@switchyard/rpc";
import { createScriptedProvider, FLUSH, freePort, json, raw, RST, SILENT, sse } from "@switchyard/testkit";
import type { Answer, RecordedCall } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLOUD_SECRETS, startCloudIdentity } from "../support/cloud-identity.ts";
import { CANARIES, SCENE_ENV } from "../support/gateway-scene.ts";
import { FORMS, startGateway } from "../support/gateway.ts";
import type { Gateway } from "../support/gateway.ts";
import { NatsTap } from "../support/nats-tap.ts";
import { startNatsServer } from "../support/nats-server.ts";
import { OtlpCollector } from "../support/otlp-collector.ts";
import { CALLER_KEY, FAMILIES } from "../support/vendors/families.ts";
import type { Served } from "../support/vendors/families.ts";

const ADMIN_KEY = "ck-test-admin";
/** Each account's secrets; those of AWS stand in one credential. */
const SECRETS = [
  CANARIES.A,
  `${CANARIES.A}+secret`,
  `${CANARIES.A}+session`,
  "ASIASCENE00000000001:",
  ADMIN_KEY,
  CALLER_KEY,
  ...CLOUD_SECRETS,
];

/** A secret plain, as a URL writes it, and in base64 wherever it begins in a group of three. */
function formsOf(secret: string): string[] {
  const shifted = [0, 1, 2].map((place) => {
    const coded = Buffer.from(" ".repeat(place) + secret).toString("base64");
    return coded.slice(place === 0 ? 0 : 4, -4);
  });
  return [
    secret,
    encodeURIComponent(secret),
    ...shifted,
    ...shifted.map((coded) => coded.replaceAll("+", "-").replaceAll("/", "_")),
  ];
}

const FORMS_OF_ALL = [...new Set(SECRETS.flatMap(formsOf))];

function expectNothingIn(name: string, text: string): void {
  expect([name, FORMS_OF_ALL.filter((form) => text.includes(form))]).toEqual([name, []]);
}

/** Those that send what the machine has: tokens and keys that are got first. */
const MACHINES: readonly Served[] = FAMILIES.filter(({ name }) =>
  ["azure_openai", "bedrock", "vertex"].includes(name),
).map((served) => ({
  ...served,
  name: `${served.name}_machine`,
  provider: { ...served.provider, credential: { none: true } },
}));

/** Families by how their secrets travel; each has accounts that can't be reached, too. */
const ACCOUNTS: readonly Served[] = [
  ...FAMILIES.filter(({ name }) =>
    ["openai", "azure_openai", "anthropic", "bedrock", "vertex", "gemini", "openrouter"].includes(name),
  ),
  ...MACHINES,
];
const WAYS = ["answers", "refused", "tls"] as const;

/** What the account that calls must keep to itself. */
const secretOf = (call: RecordedCall): string =>
  call.header("authorization")?.startsWith("AWS4") === true ? `${CANARIES.A}+session` : CANARIES.A;

/** A body that tells all that the provider was told. */
const echo = (status: number, call: RecordedCall, headers: Record<string, string> = {}): Answer => {
  const secret = secretOf(call);
  const url = `https://api.example${call.path}?key=${secret}&k=${encodeURIComponent(secret)}&b=${Buffer.from(secret).toString("base64")}`;
  const told = call.headers.map((pair) => pair.join(": ")).join(", ");
  const message = `cannot ${call.method} ${url} with ${told}`;
  return json(status, { error: { message, code: status, status: "FAILED" }, message }, headers);
};

const LEGS: Readonly<Record<string, (call: RecordedCall) => Answer>> = {
  "404 with the request": (call) => echo(404, call),
  "400 with the URL": (call) => echo(400, call),
  "401 with the request": (call) => echo(401, call),
  "429 with the request": (call) => echo(429, call, { "Retry-After": "1", "x-echo": secretOf(call) }),
  "500 with the request": (call) => echo(500, call),
  "a page": (call) =>
    raw(502, { "Content-Type": "text/html" }, [
      `<html><body>key=${secretOf(call)} ${call.path}</body></html>`,
    ]),
  "a redirect": (call) => echo(307, call, { Location: `https://h.example/?key=${secretOf(call)}` }),
  "no answer": () => SILENT,
  "an error in the stream": (call) =>
    sse([
      `data: ${JSON.stringify({ error: { message: `bad key ${secretOf(call)}`, code: 400, status: "BAD" } })}\n\n`,
    ]),
  "a reset in the stream": (call) => sse([": hi\n\n", FLUSH, `data: {"cut":"${secretOf(call)}`, FLUSH, RST]),
};

describe.each(FORMS)("BH-37: secrets stay where they are [%s]", (form) => {
  const owner = new AsyncDisposableStack();
  const vendors = new Map<string, Awaited<ReturnType<typeof createScriptedProvider>>>();
  let gateway: Gateway;
  let tap: NatsTap;
  let collector: OtlpCollector;

  beforeAll(async () => {
    collector = owner.use(await OtlpCollector.start());
    const before = { ...process.env };
    Object.assign(process.env, collector.env);
    owner.defer(() => {
      for (const name of Object.keys(collector.env)) delete process.env[name];
      Object.assign(process.env, before);
    });
    const nats = await startNatsServer();
    owner.defer(() => nats.stop());
    tap = owner.use(await NatsTap.listen(nats.url));
    const identity = owner.use(await startCloudIdentity());
    for (const { name } of ACCOUNTS) vendors.set(name, owner.use(await createScriptedProvider()));
    const refused = `http://127.0.0.1:${await freePort()}`;
    const urlOf = (name: string, way: string): string => {
      const url = vendors.get(name)?.url ?? "";
      return way === "refused" ? refused : way === "tls" ? url.replace("http:", "https:") : url;
    };
    const all = ACCOUNTS.flatMap((account) => WAYS.map((way) => ({ ...account, way })));
    gateway = owner.use(
      await startGateway({
        form,
        natsUrl: nats.url,
        env: { ...SCENE_ENV, ...identity.env },
        config: {
          providers: all.map(({ name, way, provider }) => ({
            name: `${name}-${way}`,
            base_url: urlOf(name, way),
            credential: { env: "SCENE_UPKEY_A" },
            ...provider,
          })),
          groups: all.map(({ name, way, model }) => ({
            name: `${name}-${way}`,
            deployments: [{ provider: `${name}-${way}`, model, weight: 100 }],
            policy: {
              preset: "group_failover",
              retry: { max_retries: 0 },
              bench: { failures: 1, cooloff: "50ms" },
              first_token_timeout: "300ms",
              attempt_timeout: "300ms",
            },
          })),
          keys: [
            {
              name: "secrets",
              secret: { sha256: createHash("sha256").update(CALLER_KEY).digest("hex") },
              groups: all.map(({ name, way }) => `${name}-${way}`),
            },
          ],
        },
      }),
    );
  }, 60_000);
  afterAll(() => owner.disposeAsync());

  /** What a caller gets, headers and all, in each dialect and form. */
  const askAll = async (model: string): Promise<string> => {
    const messages = [{ role: "user", content: "hi" }];
    const bodies = ["/v1/chat/completions", "/v1/messages"].flatMap((path) =>
      [false, true].map((stream) => [path, { model, messages, max_tokens: 5, stream }] as const),
    );
    const told = await Promise.all(
      bodies.map(async ([path, body]) => {
        const response = await fetch(gateway.http + path, {
          method: "POST",
          redirect: "manual",
          headers: { "content-type": "application/json", authorization: `Bearer ${CALLER_KEY}` },
          body: JSON.stringify(body),
        });
        const text = await response.text().catch((error: unknown) => `cut: ${String(error)}`);
        return [response.status, JSON.stringify([...response.headers]), text].join("\n");
      }),
    );
    return told.join("\n");
  };

  it.for(Object.keys(LEGS))("%s", async (leg) => {
    for (const vendor of vendors.values()) vendor.answer(LEGS[leg] as (call: RecordedCall) => Answer);
    const told = await Promise.all(ACCOUNTS.map(({ name }) => askAll(`${name}-answers`)));
    for (const [place, { name }] of ACCOUNTS.entries()) {
      expectNothingIn(name, told[place] ?? "");
      expect(vendors.get(name)?.calls.length).toBeGreaterThan(0);
      if (leg.endsWith("with the request")) expect(told[place]).toContain("[redacted]");
    }
  });

  it.for(["refused", "tls"])("a connection that fails: %s", async (way) => {
    const told = await Promise.all(ACCOUNTS.map(({ name }) => askAll(`${name}-${way}`)));
    for (const [place, { name }] of ACCOUNTS.entries()) {
      expectNothingIn(name, told[place] ?? "");
      expect(told[place]).toMatch(/^50\d$/mu);
    }
  });

  it("logs, metrics, traces, messages on all subjects and the config have none of them", async () => {
    expectNothingIn("logs", gateway.logs());
    for (const ops of gateway.ops) {
      for (const path of ["/metrics", "/healthz", "/readyz"])
        expectNothingIn(`${ops}${path}`, await (await fetch(ops + path)).text());
    }
    using client = createLeanClient(ConfigService, { urls: [gateway.rpc.router] });
    const call = new CallContext({
      headers: { authorization: `Bearer ${ADMIN_KEY}` },
      deadline: Date.now() + 5_000,
    });
    const { config } = await client.getConfig(create(GetConfigRequestSchema), call);
    expect(config?.providers.length).toBe(ACCOUNTS.length * WAYS.length);
    expectNothingIn(
      "the config",
      JSON.stringify(config, (_key, value: unknown) => (typeof value === "bigint" ? String(value) : value)),
    );
    using health = createLeanClient(HealthStateService, { urls: [gateway.rpc.health] });
    const { benches } = await health.listBenches(create(ListBenchesRequestSchema), call);
    expectNothingIn(
      "the benches",
      toJsonString(ListBenchesResponseSchema, create(ListBenchesResponseSchema, { benches })),
    );
    expectNothingIn("NATS", tap.text);
    expectNothingIn("traces", collector.text);
    expect(tap.text.length).toBeGreaterThan(100);
    expect(collector.text).toContain("gemini-answers");
  });
});
