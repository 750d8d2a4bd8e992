import { generateKeyPairSync } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createGoogleTokens } from "../src/index.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const asked: URLSearchParams[] = [];
let answer: { status: number; body: object } = { status: 500, body: {} };
let credential = "";
let now = 0;

const server = createServer((request, response) => {
  let body = "";
  request.setEncoding("utf8").on("data", (piece: string) => (body += piece));
  request.on("end", () => {
    asked.push(new URLSearchParams(body));
    response.writeHead(answer.status, { "content-type": "application/json" });
    response.end(JSON.stringify(answer.body));
  });
});

beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  credential = JSON.stringify({
    type: "service_account",
    client_email: "robot@p.example",
    private_key_id: "kid",
    private_key: privateKey.export({ type: "pkcs8", format: "pem" }),
    token_uri: `http://127.0.0.1:${port}/token`,
  });
});
afterAll(() => {
  server.close();
});
beforeEach(() => {
  asked.length = 0;
  now = Date.now();
});

const grant = (token: string, seconds: number): void => {
  answer = { status: 200, body: { access_token: token, expires_in: seconds, token_type: "Bearer" } };
};
const source = (): ReturnType<typeof createGoogleTokens> => createGoogleTokens(credential, () => now);

describe("tokens of a service account", () => {
  it("are asked for once, at the account's own address, and kept", async () => {
    grant("t1", 3600);
    const tokens = source();
    expect(tokens.current()).toBeUndefined();
    expect(await Promise.all([tokens.next(), tokens.next(), tokens.next()])).toEqual(["t1", "t1", "t1"]);
    expect(tokens.current()).toBe("t1");
    expect(asked).toHaveLength(1);
    expect(asked[0]?.get("grant_type")).toBe("urn:ietf:params:oauth:grant-type:jwt-bearer");
    const [, claims = ""] = asked[0]?.get("assertion")?.split(".") ?? [];
    expect(JSON.parse(Buffer.from(claims, "base64url").toString())).toMatchObject({
      iss: "robot@p.example",
      scope: "https://www.googleapis.com/auth/cloud-platform",
    });
  });

  it("are got anew before they end, while the old one serves", async () => {
    grant("t1", 200);
    const tokens = source();
    await tokens.next();
    grant("t2", 3600);
    expect(tokens.current()).toBe("t1");
    expect(await tokens.next()).toBe("t2");
    expect(tokens.current()).toBe("t2");
    expect(asked).toHaveLength(2);
    now += 3_600_000;
    expect(tokens.current()).toBeUndefined();
  });

  it("that can't be got are no answer; after a rest they are asked for again", async () => {
    answer = { status: 400, body: { error: "invalid_grant", error_description: "no" } };
    const tokens = source();
    expect(await tokens.next()).toBeUndefined();
    expect(tokens.isFailing).toBe(true);
    grant("t1", 3600);
    expect(await tokens.next()).toBeUndefined();
    expect(asked).toHaveLength(1);
    now += 2_000;
    expect(await tokens.next()).toBe("t1");
    expect(tokens.isFailing).toBe(false);
  });

  it.each(["{", "{}", '{"type":"service_account","private_key":"no key"}', '{"type":"unheard_of"}'])(
    "%s gives none",
    async (text) => {
      expect(await createGoogleTokens(text).next()).toBeUndefined();
    },
  );
});
