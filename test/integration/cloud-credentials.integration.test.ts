import { createHash } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { createScriptedProvider, eventually, json, OK, SILENT } from "@switchyard/testkit";
import type { ScriptedProvider } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CLOUD_SECRETS, grant, refuse, startCloudIdentity } from "../support/cloud-identity.ts";
import type { CloudIdentity } from "../support/cloud-identity.ts";
import { CANARIES } from "../support/gateway-scene.ts";
import { FORMS, startGateway } from "../support/gateway.ts";
import type { Gateway } from "../support/gateway.ts";

const KEY = "ck-test-cloud";
const HAIKU = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const PROFILE = "arn:aws:bedrock:eu-central-1:1:application-inference-profile/a1b2";
/** Credentials are read again every 5 s. */
const SOON = { within: 15_000, every: 50 };

const CONVERSE = json(200, {
  output: { message: { role: "assistant", content: [{ text: "ok" }] } },
  stopReason: "end_turn",
  usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
});
const GEMINI = json(200, {
  candidates: [{ content: { role: "model", parts: [{ text: "ok" }] }, finishReason: "STOP" }],
});

describe.each(FORMS)("credentials of clouds and files [%s]", (form) => {
  const owner = new AsyncDisposableStack();
  let identity: CloudIdentity;
  let vendor: ScriptedProvider;
  let gateway: Gateway;
  let pathOf: (name: string) => string;

  beforeAll(async () => {
    identity = owner.use(await startCloudIdentity());
    vendor = owner.use(await createScriptedProvider());
    pathOf = (name) => join(identity.folder, name);
    identity.server.answer((call) => {
      if (call.path.startsWith("/refused/")) return refuse(call);
      return call.path.startsWith("/silent/") ? SILENT : grant(call);
    });
    vendor.answer(({ path }) => {
      if (path.startsWith("/model/")) return CONVERSE;
      return path.includes("enerateContent") ? GEMINI : OK("ok");
    });
    writeFileSync(pathOf("refused"), identity.principal("refused"));
    writeFileSync(pathOf("silent"), identity.principal("silent"));
    writeFileSync(pathOf("key"), `${CANARIES.B}\n`);
    const azure = { family: "azure_openai", base_url: vendor.url };
    const providers = [
      { name: "google", family: "vertex", base_url: vendor.url, project: "p", credential: { none: true } },
      {
        name: "aws",
        family: "bedrock",
        base_url: vendor.url,
        region: "eu-central-1",
        credential: { none: true },
      },
      { name: "azure", ...azure, credential: { none: true } },
      { name: "refused", ...azure, credential: { file: pathOf("refused") } },
      { name: "silent", ...azure, credential: { file: pathOf("silent") } },
      { name: "file", family: "openai", base_url: vendor.url, credential: { file: pathOf("key") } },
      { name: "later", family: "openai", base_url: vendor.url, credential: { file: pathOf("later") } },
    ];
    const group = (name: string, ...deployments: readonly (readonly [string, string])[]): object => ({
      name,
      deployments: deployments.map(([provider, model], place) => ({
        provider,
        model,
        weight: place === 0 ? 100 : 0,
      })),
      policy: {
        preset: "group_failover",
        zero_weight: "standby",
        retry: { max_retries: 0 },
        connect_timeout: "3s",
      },
    });
    const groups = [
      group("google", ["google", "gemini-3-flash"]),
      group("aws", ["aws", HAIKU]),
      group("aws-profile", ["aws", PROFILE]),
      group("azure", ["azure", "gpt-5"]),
      group("refused", ["refused", "gpt-5"], ["file", "gpt-5"]),
      group("silent", ["silent", "gpt-5"], ["file", "gpt-5"]),
      group("file", ["file", "gpt-5"]),
      group("later", ["later", "gpt-5"]),
    ];
    const granted = ["google", "aws", "aws-profile", "azure", "refused", "silent", "file", "later"];
    const secret = { sha256: createHash("sha256").update(KEY).digest("hex") };
    gateway = owner.use(
      await startGateway({
        form,
        env: identity.env,
        config: { providers, groups, keys: [{ name: "cloud", secret, groups: granted }] },
      }),
    );
  }, 60_000);
  afterAll(() => owner.disposeAsync());

  const ask = async (model: string): Promise<{ status: number; text: string }> => {
    const response = await fetch(`${gateway.http}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${KEY}` },
      body: JSON.stringify({ model, messages: [{ role: "user", content: "hi" }] }),
    });
    return { status: response.status, text: await response.text() };
  };
  const sent = (name: string): string | undefined => vendor.calls.at(-1)?.header(name);
  const asked = (path: string): number =>
    identity.server.calls.filter((call) => call.path.startsWith(path)).length;
  const linesOf = (provider: string): string[] =>
    gateway
      .logs()
      .split("\n")
      .filter((line) => line.includes("provider is ") && line.includes(`"provider":"${provider}"`));

  it.each([
    ["google", "/google", /^Bearer UPKEY-A-/u],
    ["azure", "/machine/", /^Bearer UPKEY-A-/u],
    ["aws", "/aws", /^AWS4-HMAC-SHA256 Credential=ASIASCENE00000000001\//u],
  ])("`none` is what the machine has, got once: %s", async (group, path, authorization) => {
    const replies = await Promise.all([ask(group), ask(group), ask(group)]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200]);
    expect(sent("authorization")).toMatch(authorization);
    expect(sent("api-key")).toBeUndefined();
    expect(asked(path)).toBe(1);
  });

  it("SigV4: ids and ARNs are one part of the path, whatever stands in them", async () => {
    for (const [group, model] of [
      ["aws", HAIKU],
      ["aws-profile", PROFILE],
    ] as const) {
      expect((await ask(group)).status).toBe(200);
      expect(vendor.calls.at(-1)?.path).toBe(`/model/${encodeURIComponent(model)}/converse`);
    }
  });

  it("a file that is replaced is used without a restart", async () => {
    expect((await ask("file")).status).toBe(200);
    expect(sent("authorization")).toBe(`Bearer ${CANARIES.B}`);
    writeFileSync(pathOf("key"), CANARIES.C);
    await eventually(async () => {
      expect((await ask("file")).status).toBe(200);
      expect(sent("authorization")).toBe(`Bearer ${CANARIES.C}`);
    }, SOON);
  }, 30_000);

  it("R10: a file that is not there is a provider that is not ready, until it is", async () => {
    const { status, text } = await ask("later");
    expect(status).toBe(503);
    expect(text).toContain("provider_not_ready");
    expect(text).not.toContain('later"}');
    expect(text).not.toContain(identity.folder);
    expect(linesOf("later")).toHaveLength(1);
    expect(linesOf("later")[0]).toContain(`file ${pathOf("later")}`);
    writeFileSync(pathOf("later"), CANARIES.B);
    await eventually(async () => expect((await ask("later")).status).toBe(200), SOON);
    await eventually(() => expect(linesOf("later")).toHaveLength(2), SOON);
  }, 30_000);

  it("R10: no token is not ready: another serves, the log says why, and a better credential is taken up", async () => {
    expect((await ask("refused")).status).toBe(200);
    expect(sent("api-key")).toBeUndefined();
    await eventually(() => expect(linesOf("refused")).toHaveLength(1), SOON);
    expect(linesOf("refused")[0]).toContain(`a token of file ${pathOf("refused")}: invalid_client`);
    writeFileSync(pathOf("refused"), identity.principal("good"));
    await eventually(async () => {
      expect((await ask("refused")).status).toBe(200);
      expect(vendor.calls.at(-1)?.path).toBe("/openai/v1/chat/completions");
      expect(sent("authorization")).toBe(`Bearer ${CANARIES.A}`);
    }, SOON);
    await eventually(() => expect(linesOf("refused")).toHaveLength(2), SOON);
  }, 30_000);

  it("a token server that is silent is waited for no longer than a connection", async () => {
    const start = performance.now();
    const replies = await Promise.all([ask("silent"), ask("silent")]);
    expect(replies.map(({ status }) => status)).toEqual([200, 200]);
    expect(performance.now() - start).toBeLessThan(12_000);
    expect(asked("/silent/")).toBeLessThan(3);
  });

  it("invariant 9: no log line has what was given or told", () => {
    const logs = gateway.logs();
    for (const secret of [...Object.values(CANARIES), ...CLOUD_SECRETS, KEY]) {
      expect(logs).not.toContain(secret);
    }
  });
});
