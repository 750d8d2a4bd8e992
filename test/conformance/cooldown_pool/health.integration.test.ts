import { expect, it } from "vitest";
import { BROKEN, eventually, failure, OK, RESET, SILENT, tooMany } from "@switchyard/testkit";
import type { Scene, SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { callsSince, PAIR, serve } from "../support/calls.ts";
import { policyOf } from "../support/policy.ts";

const POOL: SceneSpec = { preset: "cooldown_pool", pool: PAIR };
/** Practically every first pick is A: S5, in proportion to weights that are given. */
const FIRST_A: SceneSpec = { ...POOL, deployments: { A: { weight: 1_000_000 }, B: { weight: 1 } } };
/** Requests that no probe is due for yet (B4). */
const FEW = 8;

it("B1, B4 the preset's own cool-down is one failure, 60 s, and a trickle of 5 %", () => {
  const { bench } = policyOf("cooldown_pool");
  expect(bench).toMatchObject({ failures: 1, cooloffMs: 60_000, probeShare: 0.05, whenAllBenched: "refuse" });
});

/** Over either gateway: one of the two may probe. */
async function both(scene: Scene, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    await serve(scene, 1);
    await serve(scene.via(1), 1);
  }
}

forEachForm("cooldown_pool: health gating", { replicas: 2 }, (stage) => {
  it.concurrent.for([
    ["5xx from the provider", BROKEN],
    ["an overloaded provider", failure(529, { message: "x", type: "overloaded_error" })],
    ["provider-side rate limit", tooMany()],
    ["a connection that breaks", RESET],
  ] as const)("B1 'a failure (%s) excludes the model from routing'", async ([, answer]) => {
    await using scene = await stage.scene(FIRST_A);
    scene.A.answer(answer);
    scene.B.answer(OK("b"));
    const [reply] = await serve(scene, 1);
    expect(reply?.attempts.length).toBe(2);
    await serve(scene, FEW);
    expect(scene.A.calls.length).toBe(1);
  });

  it.concurrent("B1 'a failure (timeout) excludes the model', with 1 s for the preset's 60 s", async () => {
    await using scene = await stage.scene({ ...FIRST_A, policy: { attempt_timeout: "1s" } });
    scene.A.answer(SILENT);
    const [reply] = await serve(scene, 1);
    expect(reply?.attempts[0]).toMatchObject({ outcome: "timeout", error: "timeout" });
    await serve(scene, FEW);
    expect(scene.A.calls.length).toBe(1);
  });

  it.concurrent("B1 what is the caller's own mistake is no failure", async () => {
    await using scene = await stage.scene(FIRST_A);
    scene.A.answer(failure(400, { message: "bad", type: "invalid_request_error" }));
    for (let count = 0; count < 3; count += 1) expect((await scene.ask()).status).toBe(400);
    expect(scene.counts).toEqual({ A: 3, B: 0 });
  });

  it.concurrent("B1 a failure seen through one gateway excludes the model at the others", async () => {
    await using scene = await stage.scene(FIRST_A);
    scene.A.answer(BROKEN);
    await serve(scene, 1);
    await eventually(async () => {
      const before = scene.A.calls.length;
      await serve(scene.via(1), 1);
      expect(scene.A.calls.length).toBe(before);
    });
  });

  it.concurrent("B1 'for Cooldown Time seconds': 1 s here for the preset's 60, then it is routed to again", async () => {
    await using scene = await stage.scene({ ...FIRST_A, policy: { bench: { cooloff: "1s" } } });
    scene.A.answer(BROKEN);
    scene.B.answer(OK("b"));
    await serve(scene, 1);
    const failed = performance.now();
    scene.A.answer(OK("a"));
    await eventually(async () => expect((await serve(scene, 1))[0]?.content).toBe("a"), {
      within: 4_000,
      every: 50,
    });
    expect(performance.now() - failed).toBeGreaterThan(500);
  });

  it.concurrent("B4 'during the cooldown, the Gateway re-probes with a trickle of traffic'", async () => {
    await using scene = await stage.scene(POOL);
    scene.A.answer(BROKEN);
    while (scene.A.calls.length === 0) await serve(scene, 1);
    // Who may probe is named within a second.
    await eventually(
      async () => {
        await both(scene, 10);
        expect(scene.A.calls.length).toBeGreaterThan(1);
      },
      { within: 10_000, every: 10 },
    );
    const before = scene.counts;
    // Half of these would have gone there, and 5 % of them probe: five.
    await both(scene, 100);
    const probes = callsSince(scene, before)["A"] as number;
    expect(probes).toBeGreaterThanOrEqual(2);
    expect(probes).toBeLessThanOrEqual(12);
  });

  it.concurrent("B4 'so a recovering provider can come back without waiting the full window'", async () => {
    await using scene = await stage.scene(POOL);
    scene.A.answer(BROKEN);
    while (scene.A.calls.length === 0) await serve(scene, 1);
    const benched = performance.now();
    scene.A.answer(OK("a"));
    await eventually(
      async () => {
        const before = scene.A.calls.length;
        await both(scene, 10);
        expect(scene.A.calls.length - before).toBeGreaterThan(3);
      },
      { within: 12_000, every: 10 },
    );
    expect(performance.now() - benched).toBeLessThan(30_000);
  });
});
