import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createAwsKeys } from "../src/index.ts";
import { type TokenAnswer, TokenServer } from "./token-server.ts";

const server = TokenServer.ofFile();
const { folder } = server;
const profiles = join(folder, "credentials");
let now = 0;

const source = (): ReturnType<typeof createAwsKeys> => createAwsKeys("eu-central-1", () => now);
const keysOf = (token: string | undefined): unknown => JSON.parse(token ?? "null");
const inAnHour = (): string => new Date(now + 3_600_000).toISOString();
const container = (id: string): TokenAnswer => ({
  body: { AccessKeyId: id, SecretAccessKey: `${id}-secret`, Token: `${id}-session`, Expiration: inAnHour() },
});

beforeEach(() => {
  now = Date.now();
  for (const name of Object.keys(process.env)) if (name.startsWith("AWS_")) vi.stubEnv(name, undefined);
  vi.stubEnv("AWS_SHARED_CREDENTIALS_FILE", profiles);
  vi.stubEnv("AWS_CONFIG_FILE", join(folder, "config"));
  vi.stubEnv("AWS_EC2_METADATA_DISABLED", "true");
  rmSync(profiles, { force: true });
});

describe("what a machine has for AWS", () => {
  it("keys of the environment, with a session", async () => {
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAENV");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "env-secret");
    vi.stubEnv("AWS_SESSION_TOKEN", "env-session");
    expect(keysOf(await source().next())).toEqual({
      AccessKeyId: "AKIAENV",
      SecretAccessKey: "env-secret",
      SessionToken: "env-session",
    });
  });

  it("a Bedrock API key before all of them", async () => {
    vi.stubEnv("AWS_BEARER_TOKEN_BEDROCK", "bedrock-api-key");
    vi.stubEnv("AWS_ACCESS_KEY_ID", "AKIAENV");
    vi.stubEnv("AWS_SECRET_ACCESS_KEY", "env-secret");
    expect(await source().next()).toBe("bedrock-api-key");
  });

  it("a profile, read again when it may have been replaced", async () => {
    const write = (id: string): void =>
      writeFileSync(profiles, `[work]\naws_access_key_id = ${id}\naws_secret_access_key = ${id}-secret\n`);
    vi.stubEnv("AWS_PROFILE", "work");
    const tokens = source();
    write("AKIAONE");
    expect(keysOf(await tokens.next())).toEqual({
      AccessKeyId: "AKIAONE",
      SecretAccessKey: "AKIAONE-secret",
    });
    write("AKIATWO");
    now += 60_000;
    expect(keysOf(tokens.current())).toMatchObject({ AccessKeyId: "AKIAONE" });
    expect(keysOf(await tokens.next())).toMatchObject({ AccessKeyId: "AKIATWO" });
  });

  it("a role assumed with the platform's token (web identity)", async () => {
    const file = join(folder, "web-identity");
    writeFileSync(file, "platform-token-1");
    vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", file);
    vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
    vi.stubEnv("AWS_ENDPOINT_URL_STS", server.url);
    server.answer = () => ({
      headers: { "content-type": "text/xml" },
      body: `<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>ASIAWEB</AccessKeyId><SecretAccessKey>web-secret</SecretAccessKey><SessionToken>web-session</SessionToken><Expiration>${inAnHour()}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`,
    });
    const tokens = source();
    expect(keysOf(await tokens.next())).toEqual({
      AccessKeyId: "ASIAWEB",
      SecretAccessKey: "web-secret",
      SessionToken: "web-session",
    });
    expect(server.form(0)).toMatchObject({
      Action: "AssumeRoleWithWebIdentity",
      RoleArn: "arn:aws:iam::1:role/r",
      WebIdentityToken: "platform-token-1",
    });
    writeFileSync(file, "platform-token-2");
    await tokens.next();
    expect(server.form(1)["WebIdentityToken"]).toBe("platform-token-2");
  });

  it("a container's role, with the token that its file has now, before the old keys end", async () => {
    const file = join(folder, "container-token");
    vi.stubEnv("AWS_CONTAINER_CREDENTIALS_FULL_URI", `${server.url}/v2/credentials`);
    vi.stubEnv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file);
    writeFileSync(file, "pod-token-1");
    server.answer = () => container("ASIAONE");
    const tokens = source();
    expect(keysOf(await tokens.next())).toMatchObject({
      AccessKeyId: "ASIAONE",
      SessionToken: "ASIAONE-session",
    });
    writeFileSync(file, "pod-token-2");
    server.answer = () => container("ASIATWO");
    now += 3_400_000;
    expect(keysOf(tokens.current())).toMatchObject({ AccessKeyId: "ASIAONE" });
    expect(keysOf(await tokens.next())).toMatchObject({ AccessKeyId: "ASIATWO" });
    expect(server.asked.map(({ headers }) => headers.authorization)).toEqual(["pod-token-1", "pod-token-2"]);
  });

  it("an instance's role, by IMDSv2", async () => {
    vi.stubEnv("AWS_EC2_METADATA_DISABLED", undefined);
    vi.stubEnv("AWS_EC2_METADATA_SERVICE_ENDPOINT", server.url);
    server.answer = ({ path }) => {
      if (path === "/latest/api/token") return { body: "imds-session" };
      return path.endsWith("/security-credentials/") ? { body: "role" } : container("ASIAEC2");
    };
    expect(keysOf(await source().next())).toMatchObject({ AccessKeyId: "ASIAEC2" });
    expect(server.asked.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "PUT /latest/api/token",
      "GET /latest/meta-data/iam/security-credentials/",
      "GET /latest/meta-data/iam/security-credentials/role",
    ]);
    expect(server.asked[2]?.headers["x-aws-ec2-metadata-token"]).toBe("imds-session");
  });

  it("nothing: the account is not ready", async () => {
    const tokens = source();
    expect(await tokens.next()).toBeUndefined();
    expect([tokens.isFailing, tokens.failure]).toEqual([true, "no credentials found"]);
  });

  it("a server that refuses: not ready, without what it says", async () => {
    const file = join(folder, "web-identity");
    writeFileSync(file, "platform-token-3");
    vi.stubEnv("AWS_WEB_IDENTITY_TOKEN_FILE", file);
    vi.stubEnv("AWS_ROLE_ARN", "arn:aws:iam::1:role/r");
    vi.stubEnv("AWS_ENDPOINT_URL_STS", server.url);
    server.answer = ({ body }) => ({
      status: 400,
      headers: { "content-type": "text/xml" },
      body: `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>${encodeURIComponent(body)}</Message></Error></ErrorResponse>`,
    });
    const tokens = source();
    expect(await tokens.next()).toBeUndefined();
    expect([tokens.isFailing, tokens.failure]).toEqual([true, "no token"]);
  });
});
