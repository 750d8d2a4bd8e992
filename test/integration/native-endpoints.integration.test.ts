import { expect, it } from "vitest";
import {
  eventually,
  FIN,
  json,
  NEXT,
  raw,
  RESET,
  sse,
  text,
  tooMany,
  until,
  within,
  withHeaders,
} from "@switchyard/testkit";
import { CANARIES } from "../support/gateway-scene.ts";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";
import type { GatewayClient, Reply } from "../support/gateway-client.ts";

const OPENAI_LIKE = ["openai_compatible"];
const NATIVE: SceneSpec = { native: { systemone: OPENAI_LIKE } };
/** A gateway that would try again, elsewhere and in a fallback group. */
const EAGER: SceneSpec = {
  ...NATIVE,
  pool: ["A", "B"],
  policy: { retry: { max_retries: 2, initial_backoff: "1ms" }, fallback: { general: "backup" } },
  groups: { backup: { order: ["C"], policy: { fallback: {} } } },
};

function ask(
  scene: Scene,
  body: object | string | Uint8Array<ArrayBuffer> = {},
  headers: Readonly<Record<string, string>> = {},
  caller: GatewayClient = scene,
): Promise<Reply> {
  return caller.ask(body, { path: scene.native("systemone"), headers });
}

const calls = (scene: Scene): number => Object.values(scene.counts).reduce((sum, count) => sum + count, 0);

forEachForm("native endpoints", {}, (stage) => {
  it.concurrent("P1, P9: goes to the provider byte for byte but for the model, and back as it is", async () => {
    await using scene = await stage.scene(NATIVE);
    const answer = '{ "any":"thing", "n":1.0 }';
    scene.A.answer(withHeaders(text(201, answer), { "x-own": "yes", "set-cookie": "a=b" }));
    const path = scene.native("systemone");
    const body = `{ "q":[1, 2.50],"model":"${scene.group}",\n"z":null }`;
    const reply = await scene.ask(body, {
      path: `${path}?a=1&b=%20`,
      headers: { "x-mine": "m", cookie: "c" },
    });
    expect([reply.status, reply.text]).toEqual([201, answer]);
    expect([reply.headers.get("x-own"), reply.headers.get("set-cookie")]).toEqual(["yes", null]);
    expect(reply.attempts.map(({ deployment, outcome }) => [deployment, outcome])).toEqual([
      [expect.stringMatching(/\/m-A$/u), "ok"],
    ]);
    const [call] = scene.A.calls;
    expect([call?.method, call?.path]).toEqual(["POST", `${path}?a=1&b=%20`]);
    expect(call?.body.toString()).toBe(body.replace(scene.group, "m-A"));
    expect([call?.header("x-mine"), call?.header("cookie")]).toEqual(["m", undefined]);
    expect(call?.header("authorization")).toBe(`Bearer ${CANARIES.A}`);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent.for(["text/event-stream", "application/x-ndjson"])(
    "P1: a stream of %s goes on as it comes, whatever is in it",
    async (type) => {
      await using scene = await stage.scene(NATIVE);
      const gate = Promise.withResolvers<void>();
      const [first, second] = [`: odd\n\ndata: {"a":1}\n\n`, "id: 7\nno field\n\n"];
      scene.A.answer(raw(200, { "content-type": type }, [first, NEXT, until(gate.promise), second]));
      const response = await scene.send({ stream: true }, { path: scene.native("systemone") });
      expect([response.status, response.headers.get("content-type")]).toEqual([200, type]);
      if (response.body === null) throw new Error("no body");
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      const next = async (): Promise<string> =>
        (await within(5_000, reader.read(), () => "a piece")).value ?? "";
      expect(await next()).toBe(first);
      gate.resolve();
      expect(await next()).toBe(second);
      expect((await reader.read()).done).toBe(true);
    },
  );

  it.concurrent("E6: a stream that breaks ends with an error event, and is not tried again", async () => {
    await using scene = await stage.scene(EAGER);
    for (const name of ["A", "B"] as const) scene[name].answer(sse(["data: 1\n\n", NEXT, FIN]));
    const reply = await ask(scene, { stream: true });
    expect(reply.text).toMatch(/^data: 1\n\ndata: \{"error":.*upstream_invalid_response.*\}\n\n$/u);
    expect(calls(scene)).toBe(1);
  });

  it.concurrent("E7: a provider's error comes back as it is, after one attempt", async () => {
    await using scene = await stage.scene(EAGER);
    const limited = withHeaders(text(429, "slow down, please", "text/plain"), {
      "retry-after": "0",
      "x-ratelimit-remaining": "0",
    });
    for (const name of ["A", "B"] as const) scene[name].answer(limited);
    const reply = await ask(scene);
    expect([reply.status, reply.text]).toEqual([429, "slow down, please"]);
    expect(reply.headers.get("content-type")).toBe("text/plain");
    expect(reply.headers.get("x-ratelimit-remaining")).toBe("0");
    expect(reply.headers.get("x-should-retry")).toBeNull();
    expect(reply.attempts).toMatchObject([{ status: 429, error: "rate_limited" }]);
    expect(calls(scene)).toBe(1);
  });

  it.concurrent("E7: a provider that can't be reached is a 502 after one attempt", async () => {
    await using scene = await stage.scene(EAGER);
    for (const name of ["A", "B"] as const) scene[name].answer(RESET);
    const reply = await ask(scene);
    expect([reply.status, reply.error.code, reply.attempts.length]).toEqual([502, "upstream_unreachable", 1]);
    expect(calls(scene)).toBe(1);
  });

  it.concurrent("R5: served by the listed families alone; none left is a 400 that says what is needed", async () => {
    await using scene = await stage.scene({
      native: { systemone: OPENAI_LIKE, other: ["gemini", "vertex"] },
      pool: ["A", "B"],
      providers: { A: { family: "anthropic" } },
    });
    scene.B.answer(json(200, {}));
    for (let turn = 0; turn < 5; turn += 1) expect((await ask(scene)).status).toBe(200);
    expect(scene.counts).toEqual({ A: 0, B: 5 });
    const path = scene.native("other");
    const refused = await scene.ask({}, { path });
    expect([refused.status, refused.error.code]).toEqual([400, "endpoint_not_supported"]);
    expect(refused.error.message).toContain(
      `serves ${path}, which needs a provider of family gemini or vertex`,
    );
    expect(scene.counts).toEqual({ A: 0, B: 5 });
  });

  it.concurrent("contracts 3: no key 401, no such path 404, wrong method 405", async () => {
    await using scene = await stage.scene(NATIVE);
    const path = scene.native("systemone");
    const keyless = await scene.ask({}, { path, key: "ck-unknown" });
    expect([keyless.status, keyless.error.code]).toEqual([401, "invalid_api_key"]);
    for (const other of [`${path}x`, `${path}/more`, "/v1/nothing"]) {
      const missing = await scene.ask({}, { path: other });
      expect([missing.status, missing.error.code]).toEqual([404, "not_found"]);
    }
    const got = await scene.get(path);
    expect([got.status, got.error.code, got.headers.get("allow")]).toEqual([
      405,
      "method_not_allowed",
      "POST",
    ]);
    expect(calls(scene)).toBe(0);
  });

  it.concurrent("R2: a body without a model is the caller's to mend where its key leaves a choice", async () => {
    await using scene = await stage.scene({ ...NATIVE, groups: { h: { order: ["A"] } } });
    const codeOf = async (body: string): Promise<unknown[]> => {
      const { status, error } = await ask(scene, body);
      return [status, error.code, error.param];
    };
    expect(await codeOf('{"q":1}')).toEqual([403, "model_not_allowed", null]);
    expect(await codeOf('{"model":"nobody"}')).toEqual([403, "model_not_allowed", null]);
    expect(await codeOf("[1]")).toEqual([400, "invalid_json", null]);
    expect(await codeOf("")).toEqual([400, "invalid_json", null]);
    expect(await codeOf('{"model":7}')).toEqual([400, "invalid_request", "model"]);
    expect(calls(scene)).toBe(0);
  });

  it.concurrent("R2, R3: where it leaves none, whatever was sent goes on byte for byte", async () => {
    await using scene = await stage.scene({
      ...NATIVE,
      order: ["A"],
      callers: [{ ignore_model: true }],
    });
    scene.A.answer(json(200, {}));
    const form = Buffer.from(
      "--b\r\ncontent-disposition: form-data; name=file\r\n\r\n\u0000\u00ff\r\n--b--\r\n",
    );
    const type = { "content-type": "multipart/form-data; boundary=b" };
    for (const caller of [scene, scene.caller(0)]) {
      expect((await ask(scene, '{ "q":1 }', {}, caller)).status).toBe(200);
      expect((await ask(scene, new Uint8Array(form), type, caller)).status).toBe(200);
    }
    expect((await ask(scene, '{"model":"whatever"}', {}, scene.caller(0))).status).toBe(200);
    const sent = scene.A.calls.map(({ body }) => body);
    expect(sent).toEqual([
      Buffer.from('{ "q":1 }'),
      form,
      Buffer.from('{ "q":1 }'),
      form,
      Buffer.from('{"model":"m-A"}'),
    ]);
    expect(scene.A.calls[1]?.header("content-type")).toBe(type["content-type"]);
  });

  it.concurrent("B1: benches as usual, but a path that the provider does not have says nothing about it", async () => {
    await using scene = await stage.scene({ ...NATIVE, order: ["A", "B"] });
    scene.A.answer(json(404, { detail: "no route" }));
    for (let turn = 0; turn < 3; turn += 1) {
      const reply = await ask(scene);
      expect([reply.status, reply.text]).toEqual([404, '{"detail":"no route"}']);
    }
    expect(scene.counts).toEqual({ A: 3, B: 0 });
    scene.A.answer(json(500, { detail: "broken" }));
    expect((await ask(scene)).status).toBe(500);
    await eventually(async () => {
      await ask(scene);
      expect(scene.counts["B"]).toBeGreaterThan(0);
    });
  });

  it.concurrent("R7: waits in no fallback group for a bench to end", async () => {
    await using scene = await stage.scene({
      ...EAGER,
      policy: { ...EAGER.policy, bench: { when_all_benched: "refuse" } },
      pool: ["A"],
    });
    scene.A.answer(tooMany({ "retry-after": "9" }));
    expect((await ask(scene)).status).toBe(429);
    await eventually(async () => {
      const { status } = await ask(scene);
      expect(status).toBe(503);
    });
    expect(scene.counts["C"]).toBe(0);
  });

  it.concurrent("E9: a caller's own key is used at its provider", async () => {
    await using scene = await stage.scene({ ...NATIVE, pool: ["A", "B"] });
    scene.B.answer(json(200, {}));
    const provider = `up-b-${scene.group.replace("g-", "")}`;
    for (let turn = 0; turn < 3; turn += 1) {
      expect((await ask(scene, {}, { "x-provider-key": `${provider}=own-secret-1` })).status).toBe(200);
    }
    expect(scene.counts).toEqual({ A: 0, B: 3 });
    expect(scene.B.calls[0]?.header("authorization")).toBe("Bearer own-secret-1");
  });

  it.concurrent("P9: goes with its account's own kind of credential, signed where that is AWS's", async () => {
    const aws = { family: "bedrock_mantle", region: "eu-central-1", credential: { env: "SCENE_AWS_A" } };
    await using scene = await stage.scene({
      native: { systemone: ["bedrock_mantle", "anthropic"] },
      pool: ["A", "B"],
      providers: { A: aws, B: { family: "anthropic" } },
    });
    for (const name of ["A", "B"] as const) scene[name].answer(json(200, {}));
    await eventually(async () => {
      expect((await ask(scene)).status).toBe(200);
      expect(Object.values(scene.counts)).not.toContain(0);
    });
    const [signed] = scene.A.calls;
    const [keyed] = scene.B.calls;
    expect([signed?.path, keyed?.path]).toEqual([scene.native("systemone"), scene.native("systemone")]);
    expect(signed?.header("authorization")).toMatch(/^AWS4-HMAC-SHA256 Credential=ASIASCENE00000000001\//u);
    expect(signed?.header("x-api-key")).toBeUndefined();
    expect([keyed?.header("x-api-key"), keyed?.header("authorization")]).toEqual([CANARIES.B, undefined]);
  });

  it.concurrent("F3: what belongs together stays together", async () => {
    await using scene = await stage.scene({
      ...NATIVE,
      pool: ["A", "B"],
      policy: { affinity: { by: "session" } },
    });
    for (const name of ["A", "B"] as const) scene[name].answer(json(200, {}));
    for (let turn = 0; turn < 6; turn += 1) await ask(scene, {}, { "x-session-id": "s-1" });
    expect(Math.max(...Object.values(scene.counts))).toBe(6);
  });

  it.concurrent("K5: a path that the config adds is served, and one that it drops is gone", async () => {
    await using scene = await stage.scene({ native: { first: OPENAI_LIKE } });
    const statusOf = async (name: string): Promise<number> =>
      (await scene.ask({}, { path: scene.native(name) })).status;
    expect([await statusOf("first"), await statusOf("second")]).toEqual([200, 404]);
    await scene.change({ native: { second: OPENAI_LIKE } });
    expect([await statusOf("first"), await statusOf("second")]).toEqual([404, 200]);
  });

  it.concurrent("H4: counted, priced and logged as `native`, never by its path", async () => {
    await using scene = await stage.scene({
      ...NATIVE,
      order: ["A"],
      deployments: { A: { price: { input: 1, output: 2 } } },
    });
    scene.A.answer(json(200, { usage: { prompt_tokens: 3, completion_tokens: 2 }, model: "served" }));
    expect((await ask(scene)).status).toBe(200);
    const metrics = async (): Promise<string> => {
      const all = scene.gateway.ops.map(async (ops) => (await fetch(`${ops}/metrics`)).text());
      return (await Promise.all(all)).join("\n");
    };
    await eventually(async () => {
      const seen = await metrics();
      expect(seen).toMatch(
        new RegExp(`^switchyard_requests_total\\{endpoint="native",group="${scene.group}",.*\\} 1$`, "mu"),
      );
      expect(seen).toMatch(
        new RegExp(`^switchyard_tokens_total\\{.*group="${scene.group}".*kind="input".*\\} 3$`, "mu"),
      );
      expect(seen).not.toContain("systemone");
    });
    await eventually(() => {
      const line = scene.gateway
        .logs()
        .split("\n")
        .find((each) => each.includes(`"group":"${scene.group}"`));
      expect(line).toContain('"endpoint":"native"');
      expect(line).not.toContain("systemone");
    });
  });
});
