import { expect, it } from "vitest";
import { freePort, OK, RESET, SILENT } from "@switchyard/testkit";
import type { Reply } from "../support/gateway-client.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

interface Row {
  readonly status: number;
  readonly code: string;
  readonly type: string;
  readonly when: string;
  readonly scene?: SceneSpec | (() => Promise<SceneSpec>);
  readonly prepare?: (scene: Scene) => void;
  readonly ask: (scene: Scene) => Promise<Reply>;
}

const ONE: SceneSpec = { order: ["A"] };
const MESSAGES = { path: "/v1/messages" };
const EMBED = { path: "/v1/embeddings" };

const ROWS: readonly Row[] = [
  {
    status: 400,
    code: "invalid_json",
    type: "invalid_request_error",
    when: "the body is cut",
    ask: (scene) => scene.ask('{"model":'),
  },
  {
    status: 400,
    code: "invalid_json",
    type: "invalid_request_error",
    when: "the body is a list",
    ask: (scene) => scene.ask("[1]"),
  },
  {
    status: 400,
    code: "invalid_request",
    type: "invalid_request_error",
    when: "the model is no string",
    ask: (scene) => scene.ask({ model: 7 }),
  },
  {
    status: 400,
    code: "invalid_provider_key",
    type: "invalid_request_error",
    when: "x-provider-key is malformed",
    ask: (scene) => scene.ask({}, { headers: { "x-provider-key": "nonsense" } }),
  },
  {
    status: 400,
    code: "invalid_encoding",
    type: "invalid_request_error",
    when: "the body does not decompress",
    ask: (scene) => scene.ask("no gzip", { headers: { "content-encoding": "gzip" } }),
  },
  {
    status: 400,
    code: "embeddings_not_supported",
    type: "invalid_request_error",
    when: "no deployment serves embeddings (R5)",
    scene: { ...ONE, providers: { A: { family: "azure_openai", api_version: "2024-10-21" } } },
    ask: (scene) => scene.ask({ input: "hi" }, EMBED),
  },
  {
    status: 400,
    code: "endpoint_not_supported",
    type: "invalid_request_error",
    when: "no deployment serves chat (R5)",
    scene: { ...ONE, providers: { A: { endpoints: ["embeddings"] } } },
    ask: (scene) => scene.ask(),
  },
  {
    status: 401,
    code: "invalid_api_key",
    type: "authentication_error",
    when: "the key is unknown",
    ask: (scene) => scene.ask({}, { key: "ck-wrong" }),
  },
  {
    status: 403,
    code: "model_not_allowed",
    type: "permission_error",
    when: "the group is not granted (R2)",
    ask: (scene) => scene.ask({ model: "someone-elses" }),
  },
  {
    status: 404,
    code: "not_found",
    type: "invalid_request_error",
    when: "there is no such path",
    ask: (scene) => scene.ask({}, { path: "/v1/nothing" }),
  },
  {
    status: 405,
    code: "method_not_allowed",
    type: "invalid_request_error",
    when: "the method is wrong",
    ask: (scene) => scene.get("/v1/chat/completions"),
  },
  {
    status: 413,
    code: "request_too_large",
    type: "invalid_request_error",
    when: "the body is over the limit",
    ask: (scene) => scene.ask({ pad: "x".repeat(70_000) }),
  },
  {
    status: 415,
    code: "unsupported_encoding",
    type: "invalid_request_error",
    when: "the coding is unknown",
    ask: (scene) => scene.ask({}, { headers: { "content-encoding": "zebra" } }),
  },
  {
    status: 502,
    code: "upstream_unreachable",
    type: "server_error",
    when: "the provider refuses connections",
    scene: async () => ({
      ...ONE,
      providers: { A: { base_url: `http://127.0.0.1:${await freePort()}/v1` } },
    }),
    ask: (scene) => scene.ask(),
  },
  {
    status: 502,
    code: "upstream_unreachable",
    type: "server_error",
    when: "the provider resets",
    scene: ONE,
    prepare: ({ A }) => A.answer(RESET),
    ask: (scene) => scene.ask({ stream: true }),
  },
  {
    status: 502,
    code: "upstream_invalid_response",
    type: "server_error",
    when: "the answer is no completion",
    scene: ONE,
    prepare: ({ A }) => A.answer({ ...OK("x"), steps: ["<html></html>"] }),
    ask: (scene) => scene.ask(),
  },
  {
    status: 503,
    code: "no_deployment_available",
    type: "server_error",
    when: "all deployments are paused (R6)",
    scene: { ...ONE, deployments: { A: { paused: true } } },
    ask: (scene) => scene.ask(),
  },
  {
    status: 503,
    code: "provider_not_ready",
    type: "server_error",
    when: "the provider's credential is not there (R10)",
    scene: { ...ONE, providers: { A: { credential: { env: "SCENE_UNSET_VARIABLE" } } } },
    ask: (scene) => scene.ask(),
  },
  {
    status: 503,
    code: "upstream_unavailable",
    type: "server_error",
    when: "all are benched (R7)",
    scene: { ...ONE, policy: { bench: { when_all_benched: "refuse" } } },
    prepare: ({ A }) => A.answer(RESET),
    ask: async (scene) => {
      expect((await scene.ask()).status).toBe(502);
      const reply = await scene.ask();
      expect(Number(reply.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      return reply;
    },
  },
  {
    status: 504,
    code: "upstream_timeout",
    type: "server_error",
    when: "no provider answers in time",
    scene: { ...ONE, policy: { request_timeout: "300ms" } },
    prepare: ({ A }) => A.answer(SILENT),
    ask: (scene) => scene.ask(),
  },
];

forEachForm("a refusal", { runtime: { max_body_bytes: 65_536 } }, (stage) => {
  it.concurrent.for(ROWS)("$status $code when $when (contracts, section 3)", async (row) => {
    const spec = typeof row.scene === "function" ? await row.scene() : (row.scene ?? {});
    await using scene = await stage.scene(spec);
    row.prepare?.(scene);
    const reply = await row.ask(scene);
    expect(reply.status).toBe(row.status);
    expect(reply.headers.get("content-type")).toBe("application/json");
    expect(reply.headers.get("x-request-id")).toEqual(expect.any(String));
    const { error } = reply.json() as { error: object };
    expect(error).toMatchObject({ code: row.code, type: row.type, message: expect.any(String) as string });
    expect(error).toHaveProperty("param");
    expect(reply.text).not.toMatch(/SCENE_|127\.0\.0\.1|node_modules|\bat \S+:\d+:\d+/);
  });

  it.concurrent("401 invalid_api_key when there is no key at all", async () => {
    await using scene = await stage.scene();
    const response = await fetch(`${scene.http}/v1/models`);
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({
      error: { code: "invalid_api_key", type: "authentication_error", param: null },
    });
  });

  const messages: readonly [string, number, string, (scene: Scene) => Promise<Reply>][] = [
    [
      "the key is unknown",
      401,
      "authentication_error",
      (scene) => scene.ask({}, { ...MESSAGES, key: "ck-wrong" }),
    ],
    ["the body is cut", 400, "invalid_request_error", (scene) => scene.ask('{"model":', MESSAGES)],
    [
      "the group is not granted",
      403,
      "permission_error",
      (scene) => scene.ask({ model: "nobody's" }, MESSAGES),
    ],
    [
      "the body is over the limit",
      413,
      "request_too_large",
      (scene) => scene.ask("x".repeat(70_000), MESSAGES),
    ],
    ["the method is wrong", 405, "invalid_request_error", (scene) => scene.get("/v1/messages")],
    [
      "there is no such path",
      404,
      "not_found_error",
      (scene) => scene.ask({}, { path: "/v1/messages/nothing" }),
    ],
  ];

  it.concurrent.for(messages)(
    "BH-34 has Anthropic's shape under /v1/messages when %s (H3)",
    async ([, status, type, ask]) => {
      await using scene = await stage.scene();
      const reply = await ask(scene);
      expect(reply.status).toBe(status);
      expect(reply.headers.get("content-type")).toBe("application/json");
      expect(reply.json()).toMatchObject({
        type: "error",
        error: { type, message: expect.any(String) as string },
        request_id: reply.headers.get("x-request-id"),
      });
    },
  );

  it.concurrent("the key may come in any of its three headers", async () => {
    await using scene = await stage.scene();
    for (const headers of [
      { "x-api-key": scene.key },
      { "api-key": scene.key },
      { authorization: `Bearer ${scene.key}` },
    ] as Record<string, string>[]) {
      const response = await fetch(`${scene.http}/v1/models`, { headers });
      expect(response.status).toBe(200);
      expect(((await response.json()) as { data: { id: string }[] }).data.map(({ id }) => id)).toEqual([
        scene.group,
      ]);
    }
  });
});
