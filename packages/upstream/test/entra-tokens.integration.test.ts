import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createEntraTokens } from "../src/index.ts";
import { TokenServer } from "./token-server.ts";

const server = TokenServer.ofFile();
const { folder } = server;
const VARIABLES = [
  "AZURE_TENANT_ID",
  "AZURE_CLIENT_ID",
  "AZURE_CLIENT_SECRET",
  "AZURE_FEDERATED_TOKEN_FILE",
  "AZURE_AUTHORITY_HOST",
  "AZURE_POD_IDENTITY_AUTHORITY_HOST",
  "IDENTITY_ENDPOINT",
  "IDENTITY_HEADER",
];
const SCOPE = "https://cognitiveservices.azure.com/.default";
let now = 0;

const source = (
  credential?: object,
  baseUrl = "https://r.openai.azure.com",
): ReturnType<typeof createEntraTokens> =>
  createEntraTokens(credential === undefined ? undefined : JSON.stringify(credential), baseUrl, () => now);
const queryAt = (at: number): Record<string, string> =>
  Object.fromEntries(new URL(server.asked[at]?.path ?? "", server.url).searchParams);

beforeEach(() => {
  now = Date.now();
  for (const name of VARIABLES) vi.stubEnv(name, undefined);
  vi.stubEnv("AZURE_AUTHORITY_HOST", `${server.url}/`);
});

describe("tokens of a service principal", () => {
  it.each([
    { tenant: "t-1", appId: "c-1", password: "client-secret-1", displayName: "d" },
    { tenantId: "t-1", clientId: "c-1", clientSecret: "client-secret-1" },
    { tenant_id: "t-1", client_id: "c-1", client_secret: "client-secret-1" },
  ])("by its secret, as tools print it: %j", async (credential) => {
    server.grants("e1", 3600);
    const tokens = source(credential);
    expect(await Promise.all([tokens.next(), tokens.next()])).toEqual(["e1", "e1"]);
    expect(server.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /t-1/oauth2/v2.0/token",
    ]);
    expect(server.form(0)).toEqual({
      grant_type: "client_credentials",
      client_id: "c-1",
      client_secret: "client-secret-1",
      scope: SCOPE,
    });
    now += 3_400_000;
    server.grants("e2", 3600);
    expect(tokens.current()).toBe("e1");
    expect(await tokens.next()).toBe("e2");
  });

  it("are for the cloud that the resource is in", async () => {
    server.grants("e1", 3600);
    await source({ tenant: "t", appId: "c", password: "p" }, "https://r.openai.azure.us/").next();
    expect(server.form(0)["scope"]).toBe("https://cognitiveservices.azure.us/.default");
  });

  it.each([
    [
      { status: 401, body: { error: "invalid_client", error_description: "client-secret-1" } },
      "invalid_client",
    ],
    [{ status: 503, body: "client-secret-1" }, "status 503"],
    [{ status: 302, body: "", headers: { location: "http://127.0.0.1:1/" } }, "no token"],
    [{ body: "client-secret-1" }, "an answer that is no JSON object"],
    [{ body: { token: "client-secret-1" } }, "an answer without a token"],
    [{ body: "x".repeat(300_000) }, "an answer that is too long"],
  ])("that can't be got leave a word, and nothing of the answer (%#)", async (answer, word) => {
    server.answer = () => answer;
    const tokens = source({ tenant: "t", appId: "c", password: "client-secret-1" });
    expect(await tokens.next()).toBeUndefined();
    expect([tokens.isFailing, tokens.failure]).toEqual([true, word]);
  });

  it.each([
    [{ appId: "c", password: "p" }, "the credential has no tenant"],
    [{ tenant: "t", password: "p" }, "the credential has no clientId"],
    [{ tenant: "t", appId: "c" }, "the credential has no clientSecret"],
  ])("of half a credential: %j", async (credential, word) => {
    const tokens = source(credential);
    await tokens.next();
    expect(tokens.failure).toBe(word);
    expect(server.asked).toHaveLength(0);
  });
});

describe("what a machine has for Azure", () => {
  it("a client's secret in the environment", async () => {
    vi.stubEnv("AZURE_TENANT_ID", "t-2");
    vi.stubEnv("AZURE_CLIENT_ID", "c-2");
    vi.stubEnv("AZURE_CLIENT_SECRET", "s-2");
    server.grants("e1", 3600);
    expect(await source().next()).toBe("e1");
    expect(server.asked[0]?.path).toBe("/t-2/oauth2/v2.0/token");
    expect(server.form(0)).toMatchObject({ client_id: "c-2", client_secret: "s-2" });
  });

  it("a workload identity, whose token is read from its file each time", async () => {
    const file = join(folder, "federated");
    vi.stubEnv("AZURE_TENANT_ID", "t-2");
    vi.stubEnv("AZURE_CLIENT_ID", "c-2");
    vi.stubEnv("AZURE_FEDERATED_TOKEN_FILE", file);
    server.grants("e1", 3600);
    const tokens = source();
    expect(await tokens.next()).toBeUndefined();
    expect(tokens.failure).toBe("the file of the federated token can't be read");
    now += 2_000;
    writeFileSync(file, "jwt-1\n");
    await tokens.next();
    writeFileSync(file, "jwt-2\n");
    await tokens.next();
    expect([server.form(0)["client_assertion"], server.form(1)["client_assertion"]]).toEqual([
      "jwt-1",
      "jwt-2",
    ]);
    expect(server.form(0)).toMatchObject({
      client_assertion_type: "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
      scope: SCOPE,
    });
    expect(server.form(0)).not.toHaveProperty("client_secret");
  });

  it("an app's managed identity, whose end is a time", async () => {
    vi.stubEnv("IDENTITY_ENDPOINT", `${server.url}/msi/token`);
    vi.stubEnv("IDENTITY_HEADER", "identity-header-1");
    server.answer = () => ({
      body: { access_token: "a1", expires_on: String(Math.floor(now / 1000) + 3600), token_type: "Bearer" },
    });
    const tokens = source();
    expect(await tokens.next()).toBe("a1");
    expect(server.asked[0]).toMatchObject({
      method: "GET",
      headers: { "x-identity-header": "identity-header-1" },
    });
    expect(queryAt(0)).toEqual({
      "api-version": "2019-08-01",
      resource: "https://cognitiveservices.azure.com",
    });
    now += 3_595_000;
    expect(tokens.current()).toBeUndefined();
  });

  it("a virtual machine's managed identity, of the client that is named", async () => {
    vi.stubEnv("AZURE_POD_IDENTITY_AUTHORITY_HOST", server.url);
    vi.stubEnv("AZURE_CLIENT_ID", "c-3");
    server.answer = () => ({ body: { access_token: "v1", expires_in: "3599", expires_on: "1" } });
    expect(await source().next()).toBe("v1");
    expect(server.asked[0]).toMatchObject({ method: "GET", headers: { metadata: "true" } });
    expect(server.asked[0]?.path).toMatch(/^\/metadata\/identity\/oauth2\/token\?/u);
    expect(queryAt(0)).toEqual({
      "api-version": "2018-02-01",
      resource: "https://cognitiveservices.azure.com",
      client_id: "c-3",
    });
  });
});
