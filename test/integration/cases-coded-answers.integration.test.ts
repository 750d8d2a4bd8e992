import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { embeddings, encoded, failure, json, rawHttp, rawRequest, text } from "@switchyard/testkit";
import type { Answer, Encoding } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { ONE, response } from "../support/responses.ts";
import { FAMILIES, SAYS } from "../support/translation-cases.ts";

const CODINGS: readonly Encoding[] = ["gzip", "br", "deflate"];
const NATIVE: SceneSpec = { order: ["A"], native: { rerank: ["openai_compatible"] } };
const CHAT = "/v1/chat/completions";

interface Way {
  readonly spec: SceneSpec;
  readonly method: string;
  readonly path: (scene: Scene) => string;
  readonly body: (scene: Scene) => object | undefined;
  readonly answer: Answer;
  readonly says: string;
}

const post = (path: string, spec: SceneSpec, answer: Answer, says: string, fields: object = {}): Way => ({
  spec,
  method: "POST",
  path: () => path,
  body: (scene) => scene.body(fields),
  answer,
  says,
});

const WAYS: Readonly<Record<string, Way>> = {
  "chat by Anthropic": post(CHAT, FAMILIES.anth, SAYS.anth, '"content":"ok"'),
  "chat by Bedrock": post(CHAT, FAMILIES.bedrock, SAYS.bedrock, '"content":"ok"'),
  "chat by Gemini": post(CHAT, FAMILIES.gemini, SAYS.gemini, '"content":"ok"'),
  embeddings: post("/v1/embeddings", FAMILIES.oai, embeddings([[0.25]]), "0.25", { input: "x" }),
  "counted tokens": post(
    "/v1/messages/count_tokens",
    FAMILIES.anth,
    json(200, { input_tokens: 12 }),
    '"input_tokens":12',
  ),
  "a stored response": {
    spec: ONE,
    method: "GET",
    path: () => "/v1/responses/resp_coded",
    body: () => undefined,
    answer: json(200, response("resp_coded", "kept")),
    says: "kept",
  },
  "a native endpoint": {
    spec: NATIVE,
    method: "POST",
    path: (scene) => scene.native("rerank"),
    body: (scene) => scene.body(),
    answer: json(200, { ranked: [2, 1] }),
    says: '"ranked"',
  },
};

/** What was on the wire: plain, or in a coding that the caller offered. */
async function askRaw(scene: Scene, way: Way): Promise<{ status: number; text: string }> {
  const body = way.body(scene);
  const headers: [string, string][] = [
    ["Authorization", `Bearer ${scene.key}`],
    ["Accept-Encoding", "gzip"],
  ];
  const request = rawRequest(
    way.method,
    way.path(scene),
    headers,
    body === undefined ? "" : JSON.stringify(body),
  );
  await using client = await rawHttp(scene.port, request);
  const reply = await client.response();
  expect(reply.complete).toBe(true);
  const length = reply.header("content-length");
  if (length !== undefined) expect(Number(length)).toBe(reply.body.length);
  const coding = reply.header("content-encoding");
  expect([undefined, "gzip"]).toContain(coding);
  const plain = coding === "gzip" ? gunzipSync(reply.body) : reply.body;
  return { status: reply.status, text: plain.toString() };
}

forEachForm("answers in a content coding", {}, (stage) => {
  it.concurrent.for(Object.entries(WAYS))(
    "BH-38: %s comes out readable, whatever it says",
    async ([, way]) => {
      await using scene = await stage.scene({ ...way.spec, policy: { bench: { failures: 0 } } });
      for (const coding of CODINGS) {
        scene.A.answer(encoded(coding, way.answer));
        const got = await askRaw(scene, way);
        expect([got.status, got.text.includes(way.says)]).toEqual([200, true]);
        for (const status of [404, 500]) {
          scene.A.answer(encoded(coding, failure(status, { message: "no such thing" })));
          const failed = await askRaw(scene, way);
          expect(failed.status).toBe(status);
          expect(failed.text).toContain("no such thing");
          expect(JSON.parse(failed.text)).toHaveProperty("error");
        }
      }
      // It only claims to be gzip.
      scene.A.answer(
        text(404, '{"error":{"message":"plain"}}', "application/json", { "Content-Encoding": "gzip" }),
      );
      expect((await askRaw(scene, way)).status).toBeGreaterThanOrEqual(400);
    },
  );
});
