import { expect, it } from "vitest";
import { EOF, FLUSH, HEALTHY, json, raw } from "@switchyard/testkit";
import type { Answer, Step } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import { clientOf, response } from "../support/responses.ts";
import { frame } from "../support/vendors/converse.ts";
import { CANARIES } from "../support/gateway-scene.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";

const MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0";
const PATH = `/model/${encodeURIComponent(MODEL)}/converse`;
const SIGNED = { family: "bedrock", region: "eu-central-1", credential: { env: "SCENE_AWS_A" } };
const MODELS = { deployments: { A: { model: MODEL } } };
/** A is Bedrock, B speaks OpenAI's API. */
const MIXED: SceneSpec = { ...MODELS, providers: { A: SIGNED } };
const ONE: SceneSpec = { ...MIXED, order: ["A"] };
const BEARER: SceneSpec = { ...ONE, providers: { A: { family: "bedrock", region: "eu-central-1" } } };

/** BH-17: messageStart, a delta "Hel", throttlingException "slow down". */
const FRAMES = Buffer.from(
  "AAAAdgAAAFKW1freCzpldmVudC10eXBlBwAMbWVzc2FnZVN0YXJ0DTpjb250ZW50LXR5cGUHABBhcHBsaWNhdGlvbi9qc29uDTptZXNzYWdlLXR5cGUHAAVldmVudHsicm9sZSI6ImFzc2lzdGFudCJ9b6jFmQAAAJUAAABXicuzXgs6ZXZlbnQtdHlwZQcAEWNvbnRlbnRCbG9ja0RlbHRhDTpjb250ZW50LXR5cGUHABBhcHBsaWNhdGlvbi9qc29uDTptZXNzYWdlLXR5cGUHAAVldmVudHsiY29udGVudEJsb2NrSW5kZXgiOjAsImRlbHRhIjp7InRleHQiOiJIZWwifX1kE6d2AAAAiAAAAGHeAXX0DzpleGNlcHRpb24tdHlwZQcAE3Rocm90dGxpbmdFeGNlcHRpb24NOmNvbnRlbnQtdHlwZQcAEGFwcGxpY2F0aW9uL2pzb24NOm1lc3NhZ2UtdHlwZQcACWV4Y2VwdGlvbnsibWVzc2FnZSI6InNsb3cgZG93biJ9gy7gcg==",
  "base64",
);
const START = FRAMES.subarray(0, 118);
const HEL = FRAMES.subarray(118, 267);
const THROTTLED = FRAMES.subarray(267);

function frames(steps: readonly Step[]): Answer {
  return raw(200, { "Content-Type": "application/vnd.amazon.eventstream" }, steps);
}

function answer(text: string): Answer {
  return json(200, {
    output: { message: { role: "assistant", content: [{ text }] } },
    stopReason: "end_turn",
    usage: { inputTokens: 3, outputTokens: 2, totalTokens: 905, cacheReadInputTokens: 900 },
  });
}

async function messages(scene: Scene, fields: object): Promise<{ status: number; text: string }> {
  const reply = await scene.send({ max_tokens: 9, ...fields }, { path: "/v1/messages" });
  return { status: reply.status, text: await reply.text() };
}

forEachForm("bedrock", {}, (stage) => {
  it.concurrent("P3: access keys sign each request at the base URL that the account has", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(answer("hi"));
    const reply = await scene.ask({ temperature: 0.5 }, { headers: { "x-amz-date": "1", accept: "text/x" } });
    expect(reply).toMatchObject({ status: 200, content: "hi" });
    expect(reply.json()).toMatchObject({
      object: "chat.completion",
      usage: { prompt_tokens: 903, completion_tokens: 2, prompt_tokens_details: { cached_tokens: 900 } },
    });
    const [call] = scene.A.calls;
    expect(call?.path).toBe(PATH);
    expect(call?.header("authorization")).toMatch(
      /^AWS4-HMAC-SHA256 Credential=ASIASCENE00000000001\/\d{8}\/eu-central-1\/bedrock\/aws4_request, SignedHeaders=content-type;host;x-amz-content-sha256;x-amz-date;x-amz-security-token, Signature=[0-9a-f]{64}$/u,
    );
    expect(call?.header("x-amz-security-token")).toBe(`${CANARIES.A}+session`);
    expect(call?.headerValues("x-amz-date")).toEqual([expect.stringMatching(/^\d{8}T\d{6}Z$/u)]);
    expect(call?.headerValues("accept")).toEqual(["application/json"]);
    expect(JSON.stringify(call?.headers)).not.toContain("+secret");
    expect(call?.json()).toMatchObject({ inferenceConfig: { temperature: 0.5 } });
  });

  it.concurrent("a Bedrock API key is a bearer token; messages get the cache's share (BH-25)", async () => {
    await using scene = await stage.scene(BEARER);
    scene.A.answer(answer("hi"));
    const got = await messages(scene, { system: "S" });
    expect(JSON.parse(got.text)).toMatchObject({
      type: "message",
      content: [{ type: "text", text: "hi" }],
      usage: { input_tokens: 3, cache_read_input_tokens: 900 },
    });
    expect(scene.A.calls[0]?.header("authorization")).toBe(`Bearer ${CANARIES.A}`);
    expect(scene.A.calls[0]?.json()).toMatchObject({ system: [{ text: "S" }] });
  });

  it.concurrent("BH-17: an exception after output is an error in the stream, and benches", async () => {
    await using scene = await stage.scene(MIXED);
    scene.A.answer(
      frames([START, FLUSH, HEL.subarray(0, 50), FLUSH, HEL.subarray(50), FLUSH, THROTTLED, EOF]),
    );
    scene.B.answer(HEALTHY("from b"));
    const chat = await scene.stream();
    expect(chat).toMatchObject({ status: 200, text: "Hel", done: false });
    const last = JSON.parse(chat.events.at(-1)?.data ?? "") as { error: object };
    expect(last.error).toMatchObject({ type: "rate_limit_error", message: "slow down" });
    expect(scene.A.calls[0]?.path).toBe(`${PATH}-stream`);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
    expect((await scene.stream()).text).toBe("from b");
    expect(scene.counts).toEqual({ A: 1, B: 1 });
  });

  it.concurrent("BH-17: the same to a caller of messages", async () => {
    await using scene = await stage.scene(ONE);
    scene.A.answer(frames([FRAMES, EOF]));
    const { text } = await messages(scene, { stream: true });
    expect(text).toContain('"text":"Hel"');
    expect(text).toMatch(/event: error\ndata: \{"type":"error","error":\{"type":"rate_limit_error"/u);
    expect(text).not.toContain("message_stop");
  });

  it.concurrent("BH-17: before output it fails over, and alone it is a 429", async () => {
    await using scene = await stage.scene(MIXED);
    scene.A.answer(frames([START, FLUSH, THROTTLED, EOF]));
    scene.B.answer(HEALTHY("from b"));
    const chat = await scene.stream();
    expect(chat).toMatchObject({ status: 200, text: "from b", done: true });
    expect(chat.attempts.map(({ error }) => error)).toEqual(["rate_limited", undefined]);
    expect(scene.counts).toEqual({ A: 1, B: 1 });
    await using alone = await stage.scene(ONE);
    alone.A.answer(frames([START, THROTTLED, EOF]));
    const reply = await alone.ask({ stream: true });
    expect(reply.status).toBe(429);
    expect(reply.error).toMatchObject({ type: "rate_limit_error", message: "slow down" });
  });

  it.concurrent.for([
    ["throttlingException", [429]],
    ["serviceUnavailableException", [503]],
    ["internalServerException", [500]],
    ["modelStreamErrorException", [424, 502]],
    ["validationException", [400]],
  ] as const)("BH-17: a stream that opens with %s is that status", async ([exception, statuses]) => {
    await using scene = await stage.scene({ ...ONE, policy: { bench: { failures: 0 } } });
    scene.A.answer(frames([START, frame(exception, { message: "slow down" }, "exception"), EOF]));
    for (const path of ["/v1/chat/completions", "/v1/messages"]) {
      const reply = await scene.ask({ stream: true, max_tokens: 9 }, { path });
      expect(statuses).toContain(reply.status);
      expect(reply.error.message).toBe("slow down");
    }
  });

  it.concurrent("P4: a damaged frame before output fails over", async () => {
    await using scene = await stage.scene(MIXED);
    const bent = Buffer.from(HEL);
    bent[140] = 0;
    scene.A.answer(frames([START, bent, EOF]));
    scene.B.answer(HEALTHY("from b"));
    expect(await scene.stream()).toMatchObject({ status: 200, text: "from b" });
  });

  it.concurrent("P5, BH-37: an error keeps its words, but for the account's secrets", async () => {
    await using scene = await stage.scene(ONE);
    const said = `the signature of ${CANARIES.A}+secret with ${CANARIES.A}+session does not match`;
    const headers = { "x-amzn-ErrorType": "InvalidSignatureException:http://internal/" };
    scene.A.answer(json(403, { message: said }, headers));
    const reply = await scene.ask();
    expect(reply.status).toBe(403);
    expect(reply.error).toMatchObject({
      message: "the signature of [redacted] with [redacted] does not match",
    });
    expect(reply.attempts[0]?.error).toBe("auth");
  });

  it.concurrent("bedrock_mantle: others' models by OpenAI's API, byte for byte; Claude by Anthropic's", async () => {
    const providers = { A: { ...SIGNED, family: "bedrock_mantle" } };
    await using scene = await stage.scene({ order: ["A"], providers });
    scene.A.answer(
      json(200, { object: "chat.completion", choices: [{ index: 0, message: { content: "x" } }] }),
    );
    expect((await scene.ask()).content).toBe("x");
    expect(scene.A.calls[0]?.path).toBe("/v1/chat/completions");
    expect(scene.A.calls[0]?.header("authorization")).toContain("/bedrock-mantle/aws4_request");
    await using claude = await stage.scene({ ...MODELS, order: ["A"], providers });
    claude.A.answer(
      json(200, { type: "message", content: [{ type: "text", text: "y" }], stop_reason: "end_turn" }),
    );
    expect((await claude.ask()).content).toBe("y");
    expect(JSON.parse((await messages(claude, {})).text)).toMatchObject({ content: [{ text: "y" }] });
    expect(claude.A.calls.map(({ path }) => path)).toEqual([
      "/anthropic/v1/messages",
      "/anthropic/v1/messages",
    ]);
    expect(claude.A.calls[1]?.header("anthropic-version")).toBe("2023-06-01");
  });

  it.concurrent("bedrock_mantle: AWS keeps responses, below the root that the model has (P8)", async () => {
    const providers = { A: { ...SIGNED, family: "bedrock_mantle" } };
    const deployments = { A: { model: "openai.gpt-5.5" } };
    await using scene = await stage.scene({ order: ["A"], providers, deployments });
    const id = `resp_${scene.group}`;
    scene.A.answer(json(200, response(id, "kept")));
    const client = clientOf(scene);
    const made = await client.responses.create({ model: scene.model, input: "hi" });
    await client.responses.retrieve(made.id);
    await client.responses.create({ model: scene.model, input: "go on", previous_response_id: made.id });
    expect(scene.A.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([
      "POST /openai/v1/responses",
      `GET /openai/v1/responses/${id}`,
      "POST /openai/v1/responses",
    ]);
    for (const call of scene.A.calls) {
      expect(call.header("authorization")).toContain("/bedrock-mantle/aws4_request");
    }
  });
});
