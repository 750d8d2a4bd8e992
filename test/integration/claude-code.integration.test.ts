import { expect, it } from "vitest";
import { AE, CH, DONE, FLUSH, json, rawHttp, rawRequest, ROLE, sse, text } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";

const MODEL = "claude-sonnet-5";
const BETAS =
  "claude-code-20250219,interleaved-thinking-2025-05-14,context-management-2025-06-27,new-2027-01-01";
const HEADERS = {
  "anthropic-version": "2027-01-01",
  "anthropic-beta": BETAS,
  "x-claude-code-session-id": "session-1",
  "x-app": "cli",
  traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
};
const EPHEMERAL = { type: "ephemeral", ttl: "1h" };

/** What Claude Code sends, with a field that nobody knows yet; `model` comes first. */
const FIELDS = {
  max_tokens: 32_000,
  system: [
    { type: "text", text: "x-anthropic-billing-header: cc_version=2.1.300" },
    { type: "text", text: "You are Claude Code", cache_control: EPHEMERAL },
  ],
  messages: [
    { role: "user", content: [{ type: "text", text: "hi", cache_control: { type: "ephemeral" } }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "EqoBCkgIARABGAIiQL2UoU0b1OHY" },
        { type: "tool_use", id: "toolu_1", name: "Read", input: { n: 1.0 } },
      ],
    },
    {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "x", cache_control: EPHEMERAL }],
    },
  ],
  tools: [
    {
      name: "Read",
      input_schema: { type: "object" },
      strict: true,
      defer_loading: true,
      cache_control: EPHEMERAL,
    },
  ],
  thinking: { type: "enabled", budget_tokens: 1024 },
  context_management: { edits: [{ type: "clear_thinking_20251015" }] },
  output_config: { effort: "high" },
  metadata: { user_id: "user_1" },
  field_of_next_year: { a: [1, 2] },
  stream: true,
};

const STREAM = [
  AE("message_start", {
    type: "message_start",
    message: { id: "m", type: "message", model: MODEL, content: [], usage: { input_tokens: 5 } },
  }),
  AE("ping", { type: "ping" }),
  AE("content_block_delta", {
    type: "content_block_delta",
    index: 0,
    delta: { type: "text_delta", text: "é" },
  }),
  AE("ping", { type: "ping" }),
  AE("message_delta", { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: {} }),
  AE("message_stop", { type: "message_stop" }),
].join("");

const AWS = { region: "us-east-1", credential: { env: "SCENE_AWS_A" } };
/** Whoever speaks Anthropic's API: its config, the path it is called by, and what differs in the body. */
const UPSTREAMS = [
  ["anthropic", { family: "anthropic" }, "/v1/messages?beta=true", "as it is"],
  ["bedrock_mantle", { family: "bedrock_mantle", ...AWS }, "/anthropic/v1/messages?beta=true", "as it is"],
  [
    "vertex",
    { family: "vertex", project: "p", location: "eu" },
    `/v1/projects/p/locations/eu/publishers/anthropic/models/${MODEL}:streamRawPredict`,
    "of vertex",
  ],
  ["openrouter", { family: "openrouter" }, "/api/v1/messages?beta=true", "as it is"],
  [
    "openai_compatible",
    { family: "openai_compatible", endpoints: ["messages"] },
    "/v1/messages?beta=true",
    "as it is",
  ],
] as const;

forEachForm("the gateway contract of Claude Code", {}, (stage) => {
  it.concurrent.each(UPSTREAMS)(
    "field 5.7: %s gets headers, query and body verbatim, its stream goes back byte for byte",
    async (_name, provider, path, body) => {
      await using scene = await stage.scene({
        order: ["A"],
        providers: { A: provider },
        deployments: { A: { model: MODEL } },
      });
      scene.A.answer(sse([STREAM.slice(0, 90), FLUSH, STREAM.slice(90)]));
      const asked = JSON.stringify({ model: scene.group, ...FIELDS });
      const response = await scene.send(asked, { path: "/v1/messages?beta=true", headers: HEADERS });
      expect(await response.text()).toBe(STREAM);
      expect(response.headers.get("request-id")).toBeTruthy();
      const [call] = scene.A.calls;
      expect(call?.path).toBe(path);
      for (const [name, value] of Object.entries(HEADERS)) expect(call?.headerValues(name)).toEqual([value]);
      const own =
        body === "as it is"
          ? JSON.stringify({ model: MODEL, ...FIELDS })
          : JSON.stringify({ anthropic_version: "vertex-2023-10-16", ...FIELDS });
      expect(call?.body.toString()).toBe(own);
    },
  );

  it.concurrent("field 5.7: the provider's refusal of a capability keeps its words", async () => {
    await using scene = await stage.scene({
      order: ["A"],
      providers: { A: { family: "anthropic" } },
      deployments: { A: { model: MODEL } },
    });
    const refusal =
      '{"type":"error","error":{"type":"invalid_request_error","message":"context_management: Extra inputs are not permitted"},"request_id":"req_up"}';
    scene.A.answer(
      text(400, refusal, "application/json", { "request-id": "req_up", "x-should-retry": "false" }),
    );
    const reply = await scene.ask(FIELDS, { path: "/v1/messages?beta=true", headers: HEADERS });
    expect(reply.status).toBe(400);
    expect(reply.text).toBe(refusal);
    expect(reply.headers.get("request-id")).toBe("req_up");
    expect(reply.headers.get("x-should-retry")).toBe("false");
  });

  it.concurrent("field 5.7: Converse gets the betas that Bedrock knows, in the body", async () => {
    await using scene = await stage.scene({
      order: ["A"],
      providers: { A: { family: "bedrock", ...AWS } },
      deployments: { A: { model: "us.anthropic.claude-sonnet-4-5-20250929-v1:0" } },
    });
    scene.A.answer(
      json(200, {
        output: { message: { role: "assistant", content: [{ text: "hi" }] } },
        stopReason: "end_turn",
        usage: { inputTokens: 1, outputTokens: 1, totalTokens: 2 },
      }),
    );
    const reply = await scene.ask({ max_tokens: 9 }, { path: "/v1/messages", headers: HEADERS });
    expect(reply.status).toBe(200);
    expect(scene.A.calls[0]?.json()).toMatchObject({
      additionalModelRequestFields: { anthropic_beta: ["interleaved-thinking-2025-05-14"] },
    });
    for (const name of ["anthropic-beta", "anthropic-version"]) {
      expect(scene.A.calls[0]?.header(name)).toBeUndefined();
    }
    const server = { tools: [{ type: "web_search_20250305", name: "web_search" }] };
    const refused = await scene.ask({ max_tokens: 9, ...server }, { path: "/v1/messages", headers: HEADERS });
    expect(refused.status).toBe(400);
    expect(refused.text).toContain("capability_rejected: ");
  });

  it.concurrent("field 5.7: a chat provider gets no header of Anthropic's; its stream is told with pings", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    scene.A.answer(sse([ROLE, CH({ content: "hi" }), FLUSH, CH({}, "stop"), DONE]));
    const response = await scene.send(
      { max_tokens: 9, stream: true },
      { path: "/v1/messages?beta=true", headers: HEADERS },
    );
    expect(await response.text()).toContain('event: ping\ndata: {"type":"ping"}\n\n');
    const [call] = scene.A.calls;
    expect(call?.path).toBe("/v1/chat/completions");
    expect(call?.header("anthropic-beta")).toBeUndefined();
    expect(call?.header("traceparent")).toBe(HEADERS.traceparent);
  });

  it.concurrent("field 5.4: the warming-up request is refused cleanly, and the connection stays", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    await using client = await rawHttp(scene.port, [], { head: true });
    for (const [path, status] of [
      ["/api/hello", 404],
      ["/v1/messages", 405],
      ["/v1/chat/completions", 405],
      ["/v1/models?limit=1000", 200],
    ] as const) {
      const headers: [string, string][] = [
        ["Authorization", `Bearer ${scene.key}`],
        ["x-api-key", scene.key],
      ];
      await client.send(rawRequest("HEAD", path, headers));
      const reply = await client.response();
      expect([path, reply.status, reply.header("connection") ?? "keep-alive"]).toEqual([
        path,
        status,
        "keep-alive",
      ]);
    }
    expect(scene.counts).toEqual({ A: 0 });
  });
});
