import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import {
  CAPABILITIES,
  capabilities,
  FAMILY_NAMES,
  type FamilyName,
  isFamilyName,
} from "../../src/families/capabilities.ts";
import { FamilyError, type ProviderRequest, type ProviderRequestInput } from "../../src/families/family.ts";
import { FAMILIES } from "../../src/families/index.ts";
import { callerHeaders } from "../../src/families/response-headers.ts";

const BODY = new Uint8Array([0x7b, 0x7d]);

function request(name: FamilyName, input: Partial<ProviderRequestInput>): ProviderRequest {
  const family = FAMILIES.get(name);
  if (family === undefined) throw new Error(`no family ${name}`);
  return family.buildRequest({
    endpoint: "chat",
    account: {},
    model: "gpt-5",
    body: BODY,
    query: "",
    secret: "sk",
    callerHeaders: [],
    ...input,
  });
}

const urlOf = ({ origin, path }: ProviderRequest): string => origin + path;

function headersOf(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, place) => [
    flat[place * 2] as string,
    flat[place * 2 + 1] as string,
  ]);
}

describe("the folders", () => {
  it("have the same shape, and each has its place in the tables", () => {
    const root = fileURLToPath(new URL("../../src/families/", import.meta.url));
    const folders = readdirSync(root, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    for (const { name } of folders) {
      expect(readdirSync(root + name)).toStrictEqual(["README.md", "address.ts", "family.ts"]);
      expect(name).toSatisfy((folder: string) => isFamilyName(folder.replaceAll("-", "_")));
    }
    expect([...FAMILIES.keys()].map((name) => name.replaceAll("_", "-")).toSorted()).toStrictEqual(
      folders.map(({ name }) => name).toSorted(),
    );
  });

  it("the families that can be called are those that serve something", () => {
    const serving = FAMILY_NAMES.filter((name) => capabilities(name).served.length > 0);
    expect([...FAMILIES.keys()].toSorted()).toStrictEqual([...serving].toSorted());
    expect(FAMILY_NAMES).toHaveLength(9);
    expect(isFamilyName("toString")).toBe(false);
    expect(CAPABILITIES.vertex.claude.native).toStrictEqual(["messages"]);
  });
});

describe("addresses", () => {
  it.each([
    [undefined, "chat", "https://api.openai.com/v1/chat/completions"],
    ["https://h", "chat", "https://h/v1/chat/completions"],
    ["https://h/", "embeddings", "https://h/v1/embeddings"],
    ["http://h:1/v1", "responses", "http://h:1/v1/responses"],
    ["http://h:1/proxy/v1//", "chat", "http://h:1/proxy/v1/chat/completions"],
  ] as const)("openai %s %s", (baseUrl, endpoint, url) => {
    expect(urlOf(request("openai", { account: { baseUrl }, endpoint }))).toBe(url);
  });

  it.each([
    ["http://h:11434/v1/", "chat", "http://h:11434/v1/chat/completions"],
    ["https://api.perplexity.ai", "chat", "https://api.perplexity.ai/chat/completions"],
    ["https://api.groq.com/openai/v1", "embeddings", "https://api.groq.com/openai/v1/embeddings"],
    ["https://h/v1", "messages", "https://h/v1/messages"],
    ["https://h/v1", "count_tokens", "https://h/v1/messages/count_tokens"],
  ] as const)("openai_compatible %s %s", (baseUrl, endpoint, url) => {
    expect(urlOf(request("openai_compatible", { account: { baseUrl }, endpoint }))).toBe(url);
  });

  const DATED = "2024-10-21";
  it.each([
    ["https://r", DATED, "chat", `https://r/openai/deployments/gpt-5/chat/completions?api-version=${DATED}`],
    [
      "https://r/openai/",
      DATED,
      "embeddings",
      `https://r/openai/deployments/gpt-5/embeddings?api-version=${DATED}`,
    ],
    ["https://r", DATED, "responses", `https://r/openai/responses?api-version=${DATED}`],
    ["https://r", undefined, "chat", "https://r/openai/v1/chat/completions"],
    ["https://r/", "v1", "embeddings", "https://r/openai/v1/embeddings"],
    ["https://r/openai/v1/", undefined, "responses", "https://r/openai/v1/responses"],
    [
      "https://gw/prefix",
      "preview",
      "chat",
      "https://gw/prefix/openai/v1/chat/completions?api-version=preview",
    ],
  ] as const)("azure_openai %s %s %s", (baseUrl, apiVersion, endpoint, url) => {
    expect(urlOf(request("azure_openai", { account: { baseUrl, apiVersion }, endpoint }))).toBe(url);
  });

  it("azure_openai encodes the deployment's name and keeps its own api-version", () => {
    const input = {
      account: { baseUrl: "https://r", apiVersion: DATED },
      model: "a/b c",
      query: "api-version=x&q=1",
    };
    expect(request("azure_openai", input).path).toBe(
      `/openai/deployments/a%2Fb%20c/chat/completions?api-version=${DATED}&q=1`,
    );
  });

  it.each([
    [undefined, "chat", "https://openrouter.ai/api/v1/chat/completions"],
    [undefined, "responses", "https://openrouter.ai/api/v1/responses"],
    ["http://h:1/", "messages", "http://h:1/api/v1/messages"],
    ["http://h:1/x/v1", "chat", "http://h:1/x/v1/chat/completions"],
  ] as const)("openrouter %s %s", (baseUrl, endpoint, url) => {
    const input = { account: { baseUrl }, endpoint };
    expect(urlOf(request("openrouter", input))).toBe(url);
    expect(request("openrouter", input).headers).toContain("Bearer sk");
    expect(() => request("openrouter", { endpoint: "count_tokens" })).toThrow(FamilyError);
  });

  it.each([
    ["openai", undefined, "https://api.openai.com/v1/responses/resp_1/input_items?limit=2"],
    ["azure_openai", "https://r", "https://r/openai/v1/responses/resp_1/input_items?limit=2"],
    ["openai_compatible", "https://h/v1", "https://h/v1/responses/resp_1/input_items?limit=2"],
  ] as const)("P8 %s: a call about a stored response", (name, baseUrl, url) => {
    const stored = { method: "GET", path: "/resp_1/input_items" } as const;
    const input = { account: { baseUrl }, endpoint: "responses", stored, query: "limit=2" } as const;
    expect(urlOf(request(name, input))).toBe(url);
    expect(request(name, input).method).toBe("GET");
  });

  it("the caller's query passes", () => {
    expect(request("openai", { query: "beta=1" }).path).toBe("/v1/chat/completions?beta=1");
  });

  const AZURE = "https://r.openai.azure.com";
  const AWS = { region: "eu-west-1" };
  const SYSTEMONE = "/v1/systemone";
  it.each([
    ["openai_compatible", { baseUrl: "https://h/v1" }, SYSTEMONE, "https://h/v1/systemone"],
    ["openai_compatible", { baseUrl: "https://h/x/v4" }, SYSTEMONE, "https://h/x/v4/systemone"],
    ["openai_compatible", { baseUrl: "https://h" }, SYSTEMONE, "https://h/systemone"],
    ["openai_compatible", { baseUrl: "https://h/v1" }, "/v2/rerank", "https://h/v2/rerank"],
    ["openai_compatible", { baseUrl: "https://h/v1" }, "/rerank", "https://h/v1/rerank"],
    ["openai", {}, SYSTEMONE, "https://api.openai.com/v1/systemone"],
    ["openai", { baseUrl: "http://h:1" }, SYSTEMONE, "http://h:1/v1/systemone"],
    ["openrouter", {}, SYSTEMONE, "https://openrouter.ai/api/v1/systemone"],
    ["anthropic", { baseUrl: "https://h" }, SYSTEMONE, "https://h/v1/systemone"],
    ["anthropic", { baseUrl: "https://h/v1" }, SYSTEMONE, "https://h/v1/systemone"],
    ["azure_openai", { baseUrl: AZURE }, SYSTEMONE, `${AZURE}/openai/v1/systemone`],
    [
      "azure_openai",
      { baseUrl: AZURE, apiVersion: "2024-10-21" },
      SYSTEMONE,
      `${AZURE}/openai/deployments/m/systemone?api-version=2024-10-21`,
    ],
    ["bedrock_mantle", { ...AWS }, SYSTEMONE, "https://bedrock-mantle.eu-west-1.api.aws/v1/systemone"],
    [
      "bedrock_mantle",
      { ...AWS, baseUrl: "https://h/openai/v1" },
      SYSTEMONE,
      "https://h/openai/v1/systemone",
    ],
    [
      "bedrock",
      { ...AWS },
      "/model/x/invoke",
      "https://bedrock-runtime.eu-west-1.amazonaws.com/model/x/invoke",
    ],
    [
      "gemini",
      {},
      "/v1beta/models/g:embedContent",
      "https://generativelanguage.googleapis.com/v1beta/models/g:embedContent",
    ],
    [
      "gemini",
      { baseUrl: "https://h/v1beta/openai" },
      "/v1/models/g:embedContent",
      "https://h/v1/models/g:embedContent",
    ],
    ["gemini", {}, "/models/g:x", "https://generativelanguage.googleapis.com/v1beta/models/g:x"],
    ["vertex", {}, "/v1/projects/p/x:y", "https://aiplatform.googleapis.com/v1/projects/p/x:y"],
  ] as const)("P1: %s %j has the native path %s at %s", (family, account, nativePath, url) => {
    expect(urlOf(request(family, { endpoint: "native", nativePath, account, model: "m" }))).toBe(url);
  });

  it("refuses what it can't address", () => {
    expect(() => request("openai_compatible", {})).toThrow(FamilyError);
    expect(() => request("openai", { account: { baseUrl: "ftp://h" } })).toThrow(FamilyError);
    expect(() => request("openai", { endpoint: "messages" })).toThrow(FamilyError);
  });
});

describe("request headers (P9, BH-36)", () => {
  const FROM_CALLER = [
    ["Connection", "keep-alive, X-Hop-Secret"],
    ["X-Hop-Secret", "hop-123"],
    ["Proxy-Authorization", "Basic cHJveHk6cHc="],
    ["TE", "trailers"],
    ["Upgrade", "h2c"],
    ["Keep-Alive", "timeout=9"],
    ["Authorization", "Bearer ck-test-1"],
    ["x-api-key", "ck-test-1"],
    ["API-Key", "ck-test-1"],
    ["X-Provider-Key", "p=ck-test-1"],
    ["Cookie", "sid=abc"],
    ["Expect", "100-continue"],
    ["Host", "gateway"],
    ["Content-Length", "2"],
    ["Content-Encoding", "gzip"],
    ["Content-Type", "text/plain"],
    ["Accept-Encoding", "gzip, br"],
    ["X-Forwarded-For", "10.0.0.1"],
    ["Forwarded", "for=10.0.0.1"],
    ["X-Ants-Anything", "x"],
    ["OpenAI-Organization", "caller-org"],
    ["traceparent", "00-1"],
    ["User-Agent", "sdk/1"],
    ["OpenAI-Beta", "b"],
    ["Idempotency-Key", "i"],
    ["X-Stainless-Lang", "js"],
    ["X-New", "n"],
  ].flat();
  const PASSED = [
    ["traceparent", "00-1"],
    ["user-agent", "sdk/1"],
    ["openai-beta", "b"],
    ["idempotency-key", "i"],
    ["x-stainless-lang", "js"],
    ["x-new", "n"],
  ];
  const OWN = [
    ["content-type", "application/json"],
    ["accept-encoding", "identity"],
  ];

  it("openai: the account's, and of the caller's what may cross", () => {
    const account = { organization: "org", project: "proj" };
    const { headers, method, body } = request("openai", { account, callerHeaders: FROM_CALLER });
    expect(headersOf(headers)).toStrictEqual([
      ...OWN,
      ["authorization", "Bearer sk"],
      ["openai-organization", "org"],
      ["openai-project", "proj"],
      ...PASSED,
    ]);
    expect({ method, body }).toStrictEqual({ method: "POST", body: BODY });
  });

  it("azure_openai: api-key, or a bearer for an Entra token", () => {
    const account = { baseUrl: "https://r" };
    expect(headersOf(request("azure_openai", { account, callerHeaders: FROM_CALLER }).headers)).toStrictEqual(
      [...OWN, ["api-key", "sk"], ...PASSED],
    );
    const secret = "eyJ0eXAi.eyJhdWQi.c2ln";
    expect(headersOf(request("azure_openai", { account, secret }).headers)).toStrictEqual([
      ...OWN,
      ["authorization", `Bearer ${secret}`],
    ]);
    const given = request("azure_openai", { account, secret: "opaque", secretIsToken: true });
    expect(headersOf(given.headers)).toStrictEqual([...OWN, ["authorization", "Bearer opaque"]]);
  });

  it("openai_compatible: no secret, no header", () => {
    const account = { baseUrl: "https://h/v1" };
    expect(headersOf(request("openai_compatible", { account, secret: undefined }).headers)).toStrictEqual(
      OWN,
    );
    expect(request("openai_compatible", { account }).headers).toContain("Bearer sk");
  });
});

describe("response headers", () => {
  it("BH-35, BH-36: what is the provider's connection's own stays, its request id is renamed, all else passes", () => {
    const fromProvider = [
      ["Connection", "close, X-Up-Hop"],
      ["X-Up-Hop", "z"],
      ["Transfer-Encoding", "chunked"],
      ["Set-Cookie", "up=1"],
      ["Trailer", "X-T"],
      ["Content-Length", "7"],
      ["X-Ants-Attempts", "[]"],
      ["Alt-Svc", 'h3=":443"'],
      ["Content-Type", "application/json"],
      ["Retry-After", "7"],
      ["retry-after-ms", "6900"],
      ["x-ratelimit-remaining-requests", "0"],
      ["x-should-retry", "false"],
      ["x-request-id", "up-1"],
    ].flat();
    expect(headersOf(callerHeaders(fromProvider))).toStrictEqual([
      ["content-type", "application/json"],
      ["retry-after", "7"],
      ["retry-after-ms", "6900"],
      ["x-ratelimit-remaining-requests", "0"],
      ["x-should-retry", "false"],
      ["x-upstream-request-id", "up-1"],
    ]);
  });
});
