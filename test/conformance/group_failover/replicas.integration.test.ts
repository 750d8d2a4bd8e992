import { expect, it } from "vitest";
import { BROKEN, eventually } from "@switchyard/testkit";
import { forEachForm } from "../../support/gateway-stage.ts";
import { named, PAIR, serve } from "../support/calls.ts";

const PRESET = { preset: "group_failover" };

forEachForm("A: what every replica knows", { replicas: 2 }, (stage) => {
  it.concurrent("You can change providers, credentials, models and weights without touching the application, and every replica follows (K5)", async () => {
    await using scene = await stage.scene({
      ...PRESET,
      order: ["A"],
      groups: { other: { order: ["B"] } },
    });
    named(scene, PAIR);
    expect((await scene.ask()).content).toBe("A");
    await scene.change({ order: ["B"], deployments: { B: { model: "newer", weight: 3 } } });
    for (const gateway of [scene, scene.via(1)]) expect((await gateway.ask()).content).toBe("B");
    expect(scene.B.calls[0]?.json()).toMatchObject({ model: "newer" });
    expect(scene.counts).toEqual({ A: 1, B: 2 });
    await scene.change({ order: ["B"], providers: { B: { credential: { env: "SCENE_UPKEY_C" } } } });
    await eventually(async () => {
      expect((await scene.ask()).status).toBe(200);
      expect(scene.B.calls.at(-1)?.header("authorization")).toMatch(/UPKEY-C/);
    });
  });

  it.concurrent("At Failures before benching (3) a model is benched; every replica skips it (B1)", async () => {
    const policy = { retry: { max_retries: 0 } };
    await using scene = await stage.scene({
      ...PRESET,
      deployments: { A: { weight: 1_000_000 }, B: { weight: 1 } },
      policy,
    });
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    await serve(scene, 5);
    expect(scene.counts).toEqual({ A: 3, B: 5 });
    await eventually(async () => {
      const before = scene.A.calls.length;
      expect((await scene.via(1).ask()).content).toBe("B");
      expect(scene.A.calls.length).toBe(before);
    });
    const known = scene.A.calls.length;
    for (let count = 0; count < 5; count += 1) await scene.via(1).ask();
    expect(scene.A.calls.length).toBe(known);
  });
});
