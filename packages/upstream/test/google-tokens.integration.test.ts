import { generateKeyPairSync } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createGoogleTokens } from "../src/index.ts";
import { TokenServer } from "./token-server.ts";

const SCOPE = "https://www.googleapis.com/auth/cloud-platform";
const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const server = TokenServer.ofFile();
const { folder } = server;
const file = join(folder, "credential.json");
let now = 0;

const accountOf = (email: string): object => ({
  type: "service_account",
  client_email: email,
  private_key_id: "kid",
  private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
  token_uri: `${server.url}/token`,
});
const user = (): object => ({
  type: "authorized_user",
  client_id: "client-1",
  client_secret: "client-secret-1",
  refresh_token: "refresh-1",
  token_uri: `${server.url}/token`,
});
const source = (credential?: object): ReturnType<typeof createGoogleTokens> =>
  createGoogleTokens(credential === undefined ? undefined : JSON.stringify(credential), () => now);
const claimsAt = (at: number): unknown => {
  const [, claims = ""] = server.form(at)["assertion"]?.split(".") ?? [];
  return JSON.parse(Buffer.from(claims, "base64url").toString());
};

beforeEach(() => {
  now = Date.now();
  vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", undefined);
  vi.stubEnv("CLOUDSDK_CONFIG", join(folder, "none"));
});

describe("tokens of a service account", () => {
  it("are asked for once, at the account's own address, and kept", async () => {
    server.grants("t1", 3600);
    const tokens = source(accountOf("robot@p.example"));
    expect(tokens.current()).toBeUndefined();
    expect(await Promise.all([tokens.next(), tokens.next(), tokens.next()])).toEqual(["t1", "t1", "t1"]);
    expect(tokens.current()).toBe("t1");
    expect(server.asked).toHaveLength(1);
    expect(server.form(0)["grant_type"]).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    expect(claimsAt(0)).toMatchObject({ iss: "robot@p.example", scope: SCOPE });
  });

  it("are got anew before they end, while the old one serves", async () => {
    server.grants("t1", 3600);
    const tokens = source(accountOf("robot@p.example"));
    await tokens.next();
    server.grants("t2", 3600);
    now += 3_400_000;
    expect(tokens.current()).toBe("t1");
    expect(await tokens.next()).toBe("t2");
    expect(tokens.current()).toBe("t2");
    expect(server.asked).toHaveLength(2);
    now += 3_600_000;
    expect(tokens.current()).toBeUndefined();
  });

  it("that can't be got are no answer; after a rest they are asked for again", async () => {
    server.answer = () => ({ status: 400, body: { error: "invalid_grant", error_description: "no" } });
    const tokens = source(accountOf("robot@p.example"));
    expect(await tokens.next()).toBeUndefined();
    expect([tokens.isFailing, tokens.failure]).toEqual([true, "invalid_grant"]);
    server.grants("t1", 3600);
    now += 2_000;
    expect(await tokens.next()).toBe("t1");
    expect(tokens.isFailing).toBe(false);
  });

  it.each(["{", "{}", "null", '{"type":"service_account","private_key":"no key"}', '{"type":"unheard_of"}'])(
    "%s gives none",
    async (text) => {
      expect(await createGoogleTokens(text).next()).toBeUndefined();
    },
  );
});

describe("tokens of a user", () => {
  it("are what its refresh token is given for", async () => {
    server.grants("t1", 3600);
    expect(await source(user()).next()).toBe("t1");
    expect(server.form(0)).toMatchObject({
      grant_type: "refresh_token",
      refresh_token: "refresh-1",
      client_id: "client-1",
      client_secret: "client-secret-1",
    });
  });

  it("end with the user's session, and nothing of the credential is told", async () => {
    server.answer = ({ body }) => ({
      status: 400,
      body: { error: "invalid_grant", error_description: body },
    });
    const tokens = source(user());
    expect(await tokens.next()).toBeUndefined();
    expect(tokens.failure).toBe("invalid_grant");
  });
});

describe("Application Default Credentials", () => {
  it("are the file that GOOGLE_APPLICATION_CREDENTIALS names, also after it was replaced", async () => {
    vi.stubEnv("GOOGLE_APPLICATION_CREDENTIALS", file);
    server.grants("t1", 3600);
    const tokens = source();
    expect(await tokens.next()).toBeUndefined();
    expect(tokens.failure).toBe("the file that GOOGLE_APPLICATION_CREDENTIALS names can't be read");
    writeFileSync(file, JSON.stringify(accountOf("first@p.example")));
    now += 2_000;
    expect(await tokens.next()).toBe("t1");
    writeFileSync(file, JSON.stringify(user()));
    now += 3_600_000;
    expect(tokens.current()).toBeUndefined();
    expect(await tokens.next()).toBe("t1");
    expect(claimsAt(0)).toMatchObject({ iss: "first@p.example" });
    expect(server.form(1)["grant_type"]).toBe("refresh_token");
  });

  it("are gcloud's own file where none is named", async () => {
    vi.stubEnv("CLOUDSDK_CONFIG", folder);
    writeFileSync(join(folder, "application_default_credentials.json"), JSON.stringify(user()));
    server.grants("t1", 3600);
    expect(await source().next()).toBe("t1");
    expect(server.form(0)["client_id"]).toBe("client-1");
  });

  it("are the machine's service account, asked of the metadata server", async () => {
    vi.stubEnv("GCE_METADATA_HOST", server.host);
    server.answer = () => ({
      body: { access_token: "m1", expires_in: 3599, token_type: "Bearer" },
      headers: { "metadata-flavor": "Google" },
    });
    const tokens = source();
    expect(await tokens.next()).toBe("m1");
    expect(server.asked[0]?.headers["metadata-flavor"]).toBe("Google");
    expect(server.asked[0]?.path).toMatch(
      /^\/computeMetadata\/v1\/instance\/service-accounts\/default\/token\?scopes=/u,
    );
    now += 3_590_000;
    expect(tokens.current()).toBeUndefined();
  });
});

describe("tokens of other kinds of credential", () => {
  it("external_account: the platform's token, read anew each time, is given for one", async () => {
    const subject = join(folder, "subject");
    const credential = {
      type: "external_account",
      audience: "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/k8s",
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      token_url: `${server.url}/v1/token`,
      credential_source: { file: subject },
    };
    server.grants("x1", 3600);
    const tokens = source(credential);
    writeFileSync(subject, "subject-1");
    expect(await tokens.next()).toBe("x1");
    writeFileSync(subject, "subject-2");
    await tokens.next();
    expect([server.form(0)["subject_token"], server.form(1)["subject_token"]]).toEqual([
      "subject-1",
      "subject-2",
    ]);
    expect(server.form(0)["scope"]).toBe(SCOPE);
  });

  it("impersonated_service_account: the source's token is given for the account's", async () => {
    const expireTime = new Date(now + 3_600_000).toISOString();
    server.answer = ({ path }) =>
      path === "/token"
        ? { body: { access_token: "u1", expires_in: 3600 } }
        : { body: { accessToken: "i1", expireTime } };
    const tokens = source({
      type: "impersonated_service_account",
      service_account_impersonation_url: `${server.url}/v1/projects/-/serviceAccounts/r@p:generateAccessToken`,
      source_credentials: user(),
      delegates: ["d@p"],
    });
    expect(await tokens.next()).toBe("i1");
    expect(server.asked[1]?.headers.authorization).toBe("Bearer u1");
    expect(JSON.parse(server.asked[1]?.body ?? "")).toEqual({ scope: [SCOPE], delegates: ["d@p"] });
    now += 3_595_000;
    expect(tokens.current()).toBeUndefined();
  });
});
