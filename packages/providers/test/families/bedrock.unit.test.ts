import { describe, expect, it } from "vitest";
import { awsKeysOf, secretParts } from "../../src/families/aws-credential.ts";
import { reachOf } from "../../src/families/capabilities.ts";
import { FamilyError, type ProviderRequest, type ProviderRequestInput } from "../../src/families/family.ts";
import { FAMILIES } from "../../src/families/index.ts";

const REGION = { region: "eu-central-1" };
const ID = "AKIAIOSFODNN7EXAMPLE";
const SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
const TOKEN = "IQoJb3JpZ2luX2VjEOz//////////wEa==";

function request(name: "bedrock" | "bedrock_mantle", input: Partial<ProviderRequestInput>): ProviderRequest {
  const family = FAMILIES.get(name);
  if (family === undefined) throw new Error(`no family ${name}`);
  return family.buildRequest({
    endpoint: name === "bedrock" ? "converse" : "chat",
    account: { ...REGION },
    model: "m",
    body: new Uint8Array(),
    query: "",
    secret: "bedrock-api-key-1",
    callerHeaders: [],
    ...input,
  });
}

const urlOf = ({ origin, path }: ProviderRequest): string => origin + path;

describe("bedrock", () => {
  it.each([
    [{}, "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse"],
    [{ stream: true }, "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/converse-stream"],
    [
      { account: { region: "cn-north-1" }, model: "us.anthropic.claude-3-7-sonnet-20250219-v1:0" },
      "https://bedrock-runtime.cn-north-1.amazonaws.com.cn/model/us.anthropic.claude-3-7-sonnet-20250219-v1%3A0/converse",
    ],
    [
      {
        account: { region: "eu-central-1", baseUrl: "http://h:1/base/" },
        model: "arn:aws:bedrock:eu:1:inference-profile/x",
      },
      "http://h:1/base/model/arn%3Aaws%3Abedrock%3Aeu%3A1%3Ainference-profile%2Fx/converse",
    ],
    [
      { endpoint: "native", nativePath: "/model/m/invoke", query: "a=1" },
      "https://bedrock-runtime.eu-central-1.amazonaws.com/model/m/invoke?a=1",
    ],
  ] as const)("%j is at %s", (input, url) => {
    expect(urlOf(request("bedrock", input))).toBe(url);
  });

  it("refuses what it can't serve or address", () => {
    const bedrock = FAMILIES.get("bedrock");
    expect(() => bedrock?.wireOf({ endpoint: "embeddings", account: REGION, model: "m" })).toThrow(
      FamilyError,
    );
    expect(() => request("bedrock", { endpoint: "chat" })).toThrow(FamilyError);
    expect(() => request("bedrock", { account: {} })).toThrow(FamilyError);
    expect(() => request("bedrock", { account: { baseUrl: "http://h" }, secret: `${ID}:${SECRET}` })).toThrow(
      FamilyError,
    );
  });

  it("P9: a signed request has no header of the caller's that a signature would have to hold", () => {
    const callerHeaders = [
      "X-Amz-Date",
      "1",
      "Accept",
      "text/event-stream",
      "anthropic-beta",
      "b",
      "x-new",
      "n",
    ];
    const sent = request("bedrock", {
      callerHeaders,
      translated: true,
      stream: true,
      secret: `${ID}:${SECRET}`,
    });
    expect(sent.headers).toStrictEqual([
      "content-type",
      "application/json",
      "accept-encoding",
      "identity",
      "accept",
      "application/vnd.amazon.eventstream",
      "x-new",
      "n",
    ]);
    expect(sent.signing).toStrictEqual({
      service: "bedrock",
      region: "eu-central-1",
      accessKeyId: ID,
      secretAccessKey: SECRET,
      sessionToken: undefined,
    });
  });

  it("any other secret is a bearer token", () => {
    const sent = request("bedrock", {});
    expect(sent.headers).toContain("Bearer bedrock-api-key-1");
    expect(sent.signing).toBeUndefined();
    expect(request("bedrock", { secret: undefined }).headers.join(" ")).not.toContain("authorization");
  });
});

describe("bedrock_mantle", () => {
  const HOST = "https://bedrock-mantle.eu-central-1.api.aws";
  const at = (baseUrl: string): object => ({ account: { ...REGION, baseUrl } });
  it.each([
    [{ model: "openai.gpt-oss-120b" }, `${HOST}/v1/chat/completions`],
    [{ model: "openai.gpt-5.5", endpoint: "responses" }, `${HOST}/openai/v1/responses`],
    [{ model: "google.gemma-4-31b" }, `${HOST}/openai/v1/chat/completions`],
    [{ model: "mistral.ministral-3-3b-instruct" }, `${HOST}/v1/chat/completions`],
    [{ endpoint: "messages", query: "beta=true" }, `${HOST}/anthropic/v1/messages?beta=true`],
    [{ endpoint: "count_tokens" }, `${HOST}/anthropic/v1/messages/count_tokens`],
    [at("http://h/v1"), "http://h/v1/chat/completions"],
    [{ ...at("http://h/x/openai/v1"), model: "openai.gpt-oss-20b" }, "http://h/x/openai/v1/chat/completions"],
    [{ ...at("http://h/openai/v1"), endpoint: "messages" }, "http://h/anthropic/v1/messages"],
    [{ ...at("http://h/anthropic"), endpoint: "messages" }, "http://h/anthropic/v1/messages"],
    [{ ...at("http://h/anthropic/v1"), model: "xai.grok-4.6" }, "http://h/openai/v1/chat/completions"],
  ] as const)("%j is at %s", (input, url) => {
    expect(urlOf(request("bedrock_mantle", input as Partial<ProviderRequestInput>))).toBe(url);
  });

  it.each([
    ["anthropic.claude-opus-4-8", "chat", "messages"],
    ["anthropic.claude-opus-4-8", "responses", "messages"],
    ["anthropic.claude-opus-4-8", "count_tokens", "count_tokens"],
    ["openai.gpt-oss-120b", "messages", "chat"],
    ["openai.gpt-oss-120b", "responses", "responses"],
  ] as const)("%s serves %s by %s", (model, endpoint, wire) => {
    expect(FAMILIES.get("bedrock_mantle")?.wireOf({ endpoint, account: REGION, model })).toBe(wire);
  });

  it("Claude's tokens alone are counted (R5)", () => {
    const asked = { endpoint: "count_tokens", account: REGION, model: "m" } as const;
    expect(() => FAMILIES.get("bedrock_mantle")?.wireOf(asked)).toThrow(FamilyError);
    expect(reachOf("bedrock_mantle", "anthropic.claude-opus-4-8").native).toStrictEqual([
      "messages",
      "count_tokens",
    ]);
    expect(reachOf("bedrock_mantle", "m").native).toStrictEqual(["chat", "responses"]);
  });

  it("signs for its own service, and says a version where the caller does not", () => {
    const sent = request("bedrock_mantle", { endpoint: "messages", secret: `${ID}:${SECRET}:${TOKEN}` });
    expect(sent.signing).toMatchObject({ service: "bedrock-mantle", sessionToken: TOKEN });
    expect(sent.headers.join(" ")).toContain("anthropic-version 2023-06-01");
    const own = request("bedrock_mantle", {
      endpoint: "messages",
      callerHeaders: ["Anthropic-Version", "2024-01-01", "anthropic-beta", "b"],
    });
    expect(own.headers.join(" ")).toMatch(/anthropic-version 2024-01-01 anthropic-beta b$/u);
    expect(request("bedrock_mantle", {}).headers.join(" ")).not.toContain("anthropic-version");
  });
});

describe("AWS credentials", () => {
  const KEYS = { accessKeyId: ID, secretAccessKey: SECRET, sessionToken: TOKEN };
  const JSON_KEYS = { AccessKeyId: ID, SecretAccessKey: SECRET, SessionToken: TOKEN };
  it.each([
    [`${ID}:${SECRET}`, { ...KEYS, sessionToken: undefined }],
    [`${ID}:${SECRET}:${TOKEN}`, KEYS],
    [JSON.stringify(JSON_KEYS), KEYS],
    [JSON.stringify({ Credentials: JSON_KEYS }), KEYS],
    [JSON.stringify({ Version: 1, ...JSON_KEYS, SessionToken: "" }), { ...KEYS, sessionToken: undefined }],
  ])("%s are keys", (secret, keys) => {
    expect(awsKeysOf(secret)).toStrictEqual(keys);
    expect(secretParts(secret)).toContain(SECRET);
  });

  it.each(["ABSKQmVkcm9ja0FQSUtleS1hYmM6ZGVm", "bedrock-api-key-YmVkcm9jaw==", "sk:1:2", "{", '{"a":1}', ID])(
    "%s is none of these",
    (secret) => {
      expect(awsKeysOf(secret)).toBeUndefined();
      expect(secretParts(secret)).toStrictEqual([secret]);
    },
  );
});
