import { expect, it } from "vitest";
import { eventually, failure } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { Scene } from "../support/gateway-scene.ts";
import { FAMILIES } from "../support/translation-cases.ts";

const MESSAGES = "/v1/messages";

forEachForm("reported faults of translated errors", {}, (stage) => {
  const fieldsFor = (path: string): object =>
    path.endsWith("responses") ? { messages: undefined, input: "hi" } : { max_tokens: 9 };
  const triggers: readonly (readonly [
    string,
    number,
    string,
    string,
    (scene: Scene, path: string, stream: boolean) => Promise<Response>,
  ])[] = [
    [
      "a wrong key",
      401,
      "authentication_error",
      "authentication_error",
      (scene, path, stream) => scene.send({ stream }, { path, key: "ck-wrong" }),
    ],
    [
      "a cut body",
      400,
      "invalid_request_error",
      "invalid_request_error",
      (scene, path) => scene.send('{"model":', { path }),
    ],
    [
      "a provider's 429",
      429,
      "rate_limit_error",
      "rate_limit_error",
      (scene, path, stream) => {
        scene.A.answer(failure(429, { message: "slow down", type: "rate_limit_error" }));
        return scene.send({ stream, ...fieldsFor(path) }, { path });
      },
    ],
    [
      "a provider's 500",
      500,
      "api_error",
      "server_error",
      (scene, path, stream) => {
        scene.A.answer(failure(500, { message: "broke" }));
        return scene.send({ stream, ...fieldsFor(path) }, { path });
      },
    ],
  ];

  it.concurrent.for(triggers)(
    "BH-34: %s has each dialect's own envelope",
    async ([, status, own, openAi, ask]) => {
      await using scene = await stage.scene({ ...FAMILIES.oai, policy: { bench: { failures: 0 } } });
      for (const path of [MESSAGES, "/v1/chat/completions", "/v1/responses"]) {
        for (const stream of [false, true]) {
          const got = await ask(scene, path, stream);
          expect([path, got.status, got.headers.get("content-type")]).toEqual([
            path,
            status,
            "application/json",
          ]);
          const body = (await got.json()) as { error: object };
          const type = path === MESSAGES ? own : openAi;
          expect(body).toMatchObject({ ...(path === MESSAGES ? { type: "error" } : {}), error: { type } });
          if (path === MESSAGES) continue;
          expect(body).not.toHaveProperty("type");
          expect(Object.keys(body.error)).toEqual(expect.arrayContaining(["type", "code", "param"]));
        }
      }
    },
  );

  it.concurrent.for([MESSAGES, "/v1/chat/completions", "/v1/responses"])(
    "BH-34, S5: the gateway's own limit has the envelope of %s, and says when to come back",
    async (path) => {
      await using scene = await stage.scene({
        ...FAMILIES.oai,
        policy: { bench: { failures: 0 } },
        deployments: { A: { limits: { rpm: 1 } } },
      });
      for (const stream of [false, true]) {
        // A call counts a moment after its decision, and until the minute ends.
        const refused = await eventually(async () => {
          const got = await scene.send({ stream, ...fieldsFor(path) }, { path });
          if (got.status !== 429) await got.text();
          expect(got.status).toBe(429);
          return got;
        });
        expect(refused.headers.get("content-type")).toBe("application/json");
        expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
        expect(await refused.json()).toMatchObject({
          ...(path === MESSAGES ? { type: "error" } : {}),
          error: { type: "rate_limit_error", message: expect.any(String) as string },
        });
      }
    },
  );

  it.concurrent("BH-34: max_tokens is required of a messages caller", async () => {
    await using scene = await stage.scene(FAMILIES.oai);
    const got = await scene.send({}, { path: MESSAGES });
    expect(got.status).toBe(400);
    expect(await got.json()).toMatchObject({ type: "error", error: { type: "invalid_request_error" } });
    expect(scene.counts).toEqual({ A: 0 });
  });
});
