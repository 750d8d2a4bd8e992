import { create, toJson } from "@bufbuild/protobuf";
import { ApplyConfigRequestSchema } from "@switchyard/proto/admin/v1/config_service";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createStage, KEYS } from "./stage.ts";
import type { Stage } from "./stage.ts";

/** One message of the Connect protocol's streams. */
function envelope(message: object): Buffer {
  const body = Buffer.from(JSON.stringify(message));
  const head = Buffer.alloc(5);
  head.writeUInt32BE(body.length, 1);
  return Buffer.concat([head, body]);
}

function envelopes(bytes: Buffer): { end: boolean; message: Record<string, unknown> }[] {
  const read: { end: boolean; message: Record<string, unknown> }[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt32BE(at + 1);
    const body = bytes.subarray(at + 5, at + 5 + length).toString();
    read.push({ end: ((bytes[at] ?? 0) & 2) !== 0, message: JSON.parse(body) as Record<string, unknown> });
    at += 5 + length;
  }
  return read;
}

const DECIDE = "switchyard.routing.v1.RoutingService/Decide";
const INFER = "switchyard.inference.v1.InferenceService/Infer";
const APPLY = "switchyard.admin.v1.ConfigService/ApplyConfig";
const FACTS = { id: "r1", endpoint: "ENDPOINT_CHAT", model: "chat" };

/** A caller without any library: JSON over HTTP. */
describe("Connect by hand", () => {
  let stage: Stage;
  beforeAll(async () => {
    stage = await createStage();
  });
  beforeEach(() => stage.reset());
  afterAll(() => stage.close());

  async function post(path: string, body: object, headers: Record<string, string> = {}) {
    const response = await fetch(`${stage.server.url}/${path}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${KEYS.caller}`, ...headers },
      body: JSON.stringify(body),
    });
    return { status: response.status, json: (await response.json()) as Record<string, unknown> };
  }

  async function stream(body: object, headers: Record<string, string> = {}) {
    const path = "/v1/chat/completions";
    const asked = { method: "POST", path, body: Buffer.from(JSON.stringify(body)).toString("base64") };
    const response = await fetch(`${stage.server.url}/${INFER}`, {
      method: "POST",
      headers: {
        "content-type": "application/connect+json",
        authorization: `Bearer ${KEYS.caller}`,
        ...headers,
      },
      body: new Uint8Array(envelope(asked)),
    });
    return envelopes(Buffer.from(await response.arrayBuffer()));
  }

  it("decides", async () => {
    const { status, json } = await post(DECIDE, { facts: FACTS });
    expect(status).toBe(200);
    expect(json).toMatchObject({ attempt: { deployment: "a/m-a", step: "pick" }, configRevision: "1" });
  });

  it("goes on with the continuation as it came", async () => {
    const { json } = await post(DECIDE, { facts: FACTS });
    const failed = { error: "ERROR_CLASS_SERVER_ERROR", status: 500, durationMs: "5" };
    const next = await post(DECIDE, { facts: FACTS, continuation: json["continuation"], failed });
    expect(next.json).toMatchObject({ attempt: { deployment: "b/m-b" }, lastOutcome: "retryable" });
  });

  it("an error says its code, and ErrorInfo its reason and status", async () => {
    const { status, json } = await post(DECIDE, { facts: FACTS, continuation: "AQID", failed: { error: 4 } });
    expect([status, json["code"]]).toEqual([400, "invalid_argument"]);
    expect(json["details"]).toMatchObject([
      {
        type: "google.rpc.ErrorInfo",
        debug: { reason: "invalid_request", domain: "switchyard", metadata: { status: "400" } },
      },
    ]);
  });

  it("a conflict is 409", async () => {
    const config = create(ApplyConfigRequestSchema, { config: stage.config, expectedRevision: 9n });
    const request = toJson(ApplyConfigRequestSchema, config) as object;
    const { status, json } = await post(APPLY, request, { authorization: `Bearer ${KEYS.boss}` });
    expect([status, json["code"]]).toEqual([409, "aborted"]);
  });

  it.each(["soon", "-1", "1.5", "12345678901"])("connect-timeout-ms %j is refused", async (timeout) => {
    const { status, json } = await post(DECIDE, { facts: FACTS }, { "connect-timeout-ms": timeout });
    expect([status, json["code"]]).toEqual([400, "invalid_argument"]);
  });

  it("connect-timeout-ms goes on to the router", async () => {
    await stream({ model: "chat", messages: [] }, { "connect-timeout-ms": "15000" });
    const deadlineMs = Number(stage.decisions[0]?.request.facts?.deadlineMs);
    expect(deadlineMs).toBeGreaterThan(0);
    expect(deadlineMs).toBeLessThanOrEqual(15_000);
  });

  it("serves: head, chunk, trailer and the end", async () => {
    const parts = await stream({ model: "chat", messages: [] });
    expect(parts.map(({ end, message }) => (end ? "end" : Object.keys(message)[0]))).toEqual([
      "head",
      "chunk",
      "trailer",
      "end",
    ]);
    expect(parts[2]?.message).toMatchObject({
      trailer: { usage: { input: "3", output: "2" }, model: "up-model" },
    });
    expect(parts[3]?.message).toEqual({});
  });

  it("a refusal is the end", async () => {
    const [end, ...more] = await stream({ model: "chat", messages: [] }, { authorization: "Bearer nobody" });
    expect([end?.end, more]).toEqual([true, []]);
    expect(end?.message).toMatchObject({ error: { code: "unauthenticated" } });
  });
});
