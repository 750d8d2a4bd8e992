import { expect, it } from "vitest";
import { json } from "@switchyard/testkit";
import { forEachForm } from "../support/gateway-stage.ts";
import type { SceneSpec } from "../support/gateway-scene.ts";

const NATIVE: SceneSpec = { native: { systemone: ["openai_compatible"] } };

forEachForm("native endpoints", {}, (stage) => {
  it.concurrent("P1: goes to the provider byte for byte but for the model, and back as it is", async () => {
    await using scene = await stage.scene(NATIVE);
    const path = scene.native("systemone");
    scene.A.answer(json(201, { any: "thing", n: 1.0 }, { "x-own": "yes" }));
    const body = `{ "q":[1, 2.50],"model":"${scene.group}",\n"z":null }`;
    const reply = await scene.ask(body, { path: `${path}?a=1&b=%20`, headers: { "x-mine": "m" } });
    expect([reply.status, reply.text, reply.headers.get("x-own")]).toEqual([
      201,
      '{"any":"thing","n":1}',
      "yes",
    ]);
    const [call] = scene.A.calls;
    expect([call?.method, call?.path]).toEqual(["POST", `${path}?a=1&b=%20`]);
    expect(call?.body.toString()).toBe(body.replace(scene.group, "m-A"));
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });
});
