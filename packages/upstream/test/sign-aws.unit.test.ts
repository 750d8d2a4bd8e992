import { createHash, createHmac } from "node:crypto";
import { describe, expect, it } from "vitest";
import { type AwsSigning, type Signable, signAws } from "../src/index.ts";

const NOW = Date.UTC(2026, 10, 30, 12, 34, 56);
const SIGNING: AwsSigning = {
  service: "bedrock",
  region: "us-east-1",
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY",
  sessionToken: undefined,
};
const BODY = new TextEncoder().encode('{"é":1}');
const REQUEST: Signable = {
  method: "POST",
  origin: "https://bedrock-runtime.us-east-1.amazonaws.com",
  path: "/model/m%3A0/converse",
  body: BODY,
};

const sha256 = (data: string | Uint8Array): string => createHash("sha256").update(data).digest("hex");
const hmac = (key: string | Buffer, data: string): Buffer => createHmac("sha256", key).update(data).digest();

/** The signature as AWS's documentation computes it, of a path and query in canonical form. */
function expected(host: string, path: string, query: string, token?: string): string {
  const signed = {
    "content-type": "application/json",
    host,
    "x-amz-content-sha256": sha256(BODY),
    "x-amz-date": "20261130T123456Z",
    ...(token === undefined ? {} : { "x-amz-security-token": token }),
  };
  const headers = Object.entries(signed).map(([name, value]) => `${name}:${value}\n`);
  const names = Object.keys(signed).join(";");
  const canonical = ["POST", path, query, headers.join(""), names, sha256(BODY)].join("\n");
  const scope = `20261130/us-east-1/${SIGNING.service}/aws4_request`;
  const toSign = ["AWS4-HMAC-SHA256", "20261130T123456Z", scope, sha256(canonical)].join("\n");
  const key = scope
    .split("/")
    .reduce<string | Buffer>((made, part) => hmac(made, part), `AWS4${SIGNING.secretAccessKey}`);
  const signature = hmac(key, toSign).toString("hex");
  return `AWS4-HMAC-SHA256 Credential=${SIGNING.accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
}

const authorization = (headers: readonly string[]): string | undefined =>
  headers[headers.indexOf("authorization") + 1];

describe("signatures of requests to AWS", () => {
  it("sign a body in pieces as the same body in one", async () => {
    const pieces = { ...REQUEST, body: [BODY.subarray(0, 3), BODY.subarray(3)] };
    expect(await signAws(pieces, SIGNING, NOW)).toEqual(await signAws(REQUEST, SIGNING, NOW));
  });

  it("are as AWS computes them; paths are escaped once more", async () => {
    const headers = await signAws(REQUEST, SIGNING, NOW);
    const host = "bedrock-runtime.us-east-1.amazonaws.com";
    expect(authorization(headers)).toBe(expected(host, "/model/m%253A0/converse", ""));
    expect(headers).toContain("20261130T123456Z");
    expect(headers).not.toContain("host");
  });

  it.each([
    ["an ARN", "arn:aws:bedrock:us-east-1:1:inference-profile/us.m-v1:0"],
    ["a profile's id", "us.anthropic.claude-haiku-4-5-20251001-v1:0"],
  ])("hold the model in the path, as one part of it: %s", async (_title, model) => {
    const part = encodeURIComponent(model);
    const headers = await signAws({ ...REQUEST, path: `/model/${part}/converse-stream` }, SIGNING, NOW);
    const path = `/model/${encodeURIComponent(part)}/converse-stream`;
    expect(authorization(headers)).toBe(expected("bedrock-runtime.us-east-1.amazonaws.com", path, ""));
  });

  it("hold the port, the query and the session's token", async () => {
    const request = { ...REQUEST, origin: "http://127.0.0.1:8080", path: "/v1/messages?b=2&a=x%20y" };
    const headers = await signAws(request, { ...SIGNING, sessionToken: "T+/=" }, NOW);
    expect(authorization(headers)).toBe(expected("127.0.0.1:8080", "/v1/messages", "a=x%20y&b=2", "T+/="));
    expect(headers[headers.indexOf("x-amz-security-token") + 1]).toBe("T+/=");
  });

  it("never hold the secret", async () => {
    expect(JSON.stringify(await signAws(REQUEST, SIGNING, NOW))).not.toContain(SIGNING.secretAccessKey);
  });
});
