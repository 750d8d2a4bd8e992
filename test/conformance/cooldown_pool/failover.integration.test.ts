import { expect, it } from "vitest";
import { BROKEN, failure, OK, tooMany } from "@switchyard/testkit";
import type { SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { ALL, callsSince, PAIR, serve } from "../support/calls.ts";
import { policyOf } from "../support/policy.ts";

const POOL: SceneSpec = { preset: "cooldown_pool", pool: ALL };
/** Practically every first pick is A, and what is left is shared evenly. */
const FIRST_A = { A: { weight: 1_000_000 }, B: { weight: 1 }, C: { weight: 1 } };
const BACKED: SceneSpec = {
  preset: "cooldown_pool",
  pool: PAIR,
  groups: { backup: { order: ["C"] } },
  defaultFallbacks: ["backup"],
};

it("E1, E4 the preset retries on other models alone, at once, with three calls in all", () => {
  const { retry, failover, maxAttempts, requestTimeoutMs } = policyOf("cooldown_pool");
  expect([retry.maxRetries, failover.waitMs, failover.order, maxAttempts]).toEqual([0, 0, "strategy", 3]);
  expect(requestTimeoutMs).toBe(60_000);
});

forEachForm("cooldown_pool: failover chain", {}, (stage) => {
  it.concurrent("E4 'counts it against the request's retry budget': three calls, then no more", async () => {
    await using scene = await stage.scene({
      ...POOL,
      groups: { backup: { order: ["A"], deployments: { A: { model: "other" } } } },
      defaultFallbacks: ["backup"],
    });
    for (const name of ALL) scene[name].answer(BROKEN);
    const reply = await scene.ask();
    expect([reply.status, reply.attempts.length]).toEqual([500, 3]);
    expect(scene.counts).toEqual({ A: 1, B: 1, C: 1 });
  });

  it.concurrent("E4 the budget is what the policy says", async () => {
    await using scene = await stage.scene({ ...POOL, policy: { max_attempts: 2 } });
    for (const name of ALL) scene[name].answer(BROKEN);
    expect((await scene.ask()).attempts.length).toBe(2);
  });

  it.concurrent("'waits Retry After seconds' (failover.wait; 400 ms here) before each further call", async () => {
    await using scene = await stage.scene({ ...POOL, policy: { failover: { wait: "400ms" } } });
    for (const name of ALL) scene[name].answer(BROKEN);
    expect((await scene.ask()).attempts.length).toBe(3);
    const times = ALL.map((name) => scene[name].calls[0]?.at as number).toSorted((x, y) => x - y);
    const gaps = times.slice(1).map((at, place) => at - (times[place] as number));
    for (const gap of gaps) {
      expect(gap).toBeGreaterThanOrEqual(395);
      expect(gap).toBeLessThan(900);
    }
  });

  it.concurrent("E3 're-enters the selection order with the failed model excluded'", async () => {
    await using scene = await stage.scene({
      ...POOL,
      policy: { bench: { failures: 0 } },
      deployments: FIRST_A,
    });
    scene.A.answer(BROKEN);
    for (let count = 0; count < 6; count += 1) {
      const [reply] = await serve(scene, 1);
      expect(reply?.attempts.map(({ outcome }) => outcome)).toEqual(["retryable", "ok"]);
    }
    expect(scene.A.calls.length).toBe(6);
  });

  it.concurrent("R1, section 2 're-enters the selection order': what went into cooldown meanwhile is excluded", async () => {
    await using scene = await stage.scene({
      ...POOL,
      groups: { two: { order: ["B"] } },
      policy: { bench: { scope: "model" } },
      deployments: FIRST_A,
    });
    scene.C.answer(OK("c"));
    scene.B.answer(BROKEN);
    const hold = scene.A.hold();
    scene.A.answer(BROKEN);
    const waiting = Array.from({ length: 4 }, () => scene.ask());
    await hold.waitFor(4);
    expect((await scene.ask({ model: scene.groupOf("two") })).status).toBe(500);
    hold.release();
    for (const reply of await Promise.all(waiting)) {
      expect(reply.content).toBe("c");
      expect(reply.attempts.length).toBe(2);
    }
    expect(scene.B.calls.length).toBe(1);
  });

  it.concurrent("S2 'picks the next-best model and retries': by the same strategy", async () => {
    await using scene = await stage.scene({
      ...POOL,
      policy: { strategy: "lowest_cost", bench: { failures: 0 } },
      deployments: {
        A: { price: { input: 1, output: 1 } },
        B: { price: { input: 3, output: 3 } },
        C: { price: { input: 2, output: 2 } },
      },
    });
    scene.A.answer(BROKEN);
    await serve(scene, 20);
    // Every tenth request explores (S4).
    expect(scene.C.calls.length).toBeGreaterThanOrEqual(16);
  });

  it.concurrent("S2 under the preset's shuffle the next is drawn again", async () => {
    await using scene = await stage.scene({
      ...POOL,
      policy: { bench: { failures: 0 } },
      deployments: FIRST_A,
    });
    scene.A.answer(BROKEN);
    await serve(scene, 24);
    expect(scene.B.calls.length).toBeGreaterThan(2);
    expect(scene.C.calls.length).toBeGreaterThan(2);
  });

  it.concurrent("G3 'if the allowlist is exhausted, the Gateway pulls from the Fallback Models list'", async () => {
    await using scene = await stage.scene(BACKED);
    scene.A.answer(BROKEN);
    scene.B.answer(tooMany());
    scene.C.answer(OK("c"));
    const [reply] = await serve(scene, 1);
    expect(reply?.content).toBe("c");
    expect(reply?.attempts.length).toBe(3);
    expect(reply?.headers.get("x-ants-model-group")).toBe(scene.groupOf("backup"));
  });

  it.concurrent("E7 'if that is also exhausted, the request fails with the last provider error surfaced'", async () => {
    await using scene = await stage.scene(BACKED);
    scene.A.answer(failure(500, { message: "said by A" }));
    scene.B.answer(failure(500, { message: "said by B" }));
    scene.C.answer(failure(503, { message: "said by C" }, { "Retry-After": "7" }));
    const reply = await scene.ask();
    expect([reply.status, reply.error.message]).toEqual([503, "said by C"]);
    expect(reply.headers.get("retry-after")).toBe("7");
  });

  it.concurrent("the list is 'a safety net, not a capacity plan': while a model of the pool serves it gets nothing", async () => {
    await using scene = await stage.scene(BACKED);
    scene.A.answer(BROKEN);
    while (scene.A.calls.length === 0) await serve(scene, 1);
    const before = scene.counts;
    await serve(scene, 12);
    expect(callsSince(scene, before)).toEqual({ A: 0, B: 12, C: 0 });
  });
});
