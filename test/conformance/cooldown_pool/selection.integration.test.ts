import { setTimeout as sleep } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { BROKEN, delayed, json, OK } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import type { Stage } from "../../support/gateway-stage.ts";
import { ALL, askAt, callsSince, named, serve } from "../support/calls.ts";

const POOL: SceneSpec = { preset: "cooldown_pool", pool: ALL };

function answerOf(tokens: number): Answer {
  return json(200, {
    id: "c1",
    object: "chat.completion",
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
    usage: { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 },
  });
}

const selectionOrder = (stage: Stage): unknown =>
  describe("selection order", () => {
    it.concurrent("R1, R2 'only models the team is permitted to call are considered'", async () => {
      await using scene = await stage.scene({ ...POOL, groups: { other: { order: ["A"] } } });
      await scene.change({ key: { groups: [scene.group] } });
      const refused = await scene.ask({ model: scene.groupOf("other") });
      expect([refused.status, refused.error.code]).toEqual([403, "model_not_allowed"]);
      expect(refused.error.message).toContain(scene.group);
      expect(scene.counts).toEqual({ A: 0, B: 0, C: 0 });
      await serve(scene, 1);
    });

    it.concurrent("R1, B1 'models currently in cooldown are excluded', after one failure", async () => {
      await using scene = await stage.scene(POOL);
      scene.A.answer(BROKEN);
      while (scene.A.calls.length === 0) await serve(scene, 1);
      const before = scene.counts;
      // Fewer than a probe is due for.
      await serve(scene, 12);
      expect(callsSince(scene, before)["A"]).toBe(0);
    });

    it.concurrent("R4 'for chat only Chat models qualify; for embeddings only Embedding models'", async () => {
      await using scene = await stage.scene({
        ...POOL,
        deployments: { A: { type: "chat" }, B: { type: "embedding" }, C: { type: "chat" } },
      });
      named(scene);
      await serve(scene, 12);
      expect(scene.B.calls.length).toBe(0);
      const before = scene.counts;
      for (let count = 0; count < 6; count += 1) expect((await askAt(scene, "embeddings")).status).toBe(200);
      expect(callsSince(scene, before)).toEqual({ A: 0, B: 6, C: 0 });
    });

    it.concurrent("R4 the type is judged before the strategy: no model of the type is a refusal, not a call", async () => {
      await using scene = await stage.scene({
        ...POOL,
        deployments: { A: { type: "chat" }, B: { type: "chat" }, C: { type: "chat" } },
      });
      const refused = await askAt(scene, "embeddings");
      expect([refused.status, refused.error.code]).toEqual([400, "embeddings_not_supported"]);
      expect(scene.counts).toEqual({ A: 0, B: 0, C: 0 });
    });

    it.concurrent("S5 'Simple Shuffle' is the preset's own: each has a share, in no fixed order", async () => {
      await using scene = await stage.scene(POOL);
      named(scene);
      const order = (await serve(scene, 60)).map(({ content }) => content);
      for (const calls of Object.values(scene.counts)) expect(calls).toBeGreaterThan(5);
      const repeats = order.filter((name, place) => name === order[place - 1]).length;
      expect(repeats).toBeGreaterThan(5);
    });

    it.concurrent("S3 'Least Busy'", async () => {
      await using scene = await stage.scene({ ...POOL, policy: { strategy: "least_busy" } });
      for (const name of ALL) scene[name].answer(delayed(200, OK(name)));
      await Promise.all(Array.from({ length: 12 }, () => serve(scene, 1)));
      for (const calls of Object.values(scene.counts)) {
        expect(calls).toBeGreaterThanOrEqual(3);
        expect(calls).toBeLessThanOrEqual(5);
      }
    });

    it.concurrent("S3 'Latency Based'", async () => {
      await using scene = await stage.scene({ ...POOL, policy: { strategy: "lowest_latency" } });
      scene.A.answer(delayed(100, OK("a")));
      scene.B.answer(OK("b"));
      scene.C.answer(delayed(100, OK("c")));
      // Found by a turn or when it is explored (S4).
      while (scene.B.calls.length === 0) await serve(scene, 1);
      const before = scene.counts;
      await serve(scene, 20);
      // Every tenth explores (S4).
      expect(callsSince(scene, before)["B"]).toBeGreaterThanOrEqual(16);
    });

    it.concurrent("S3 'Cost Based', picked 'from the filtered pool': the cheapest that is not in cooldown", async () => {
      await using scene = await stage.scene({
        ...POOL,
        policy: { strategy: "lowest_cost" },
        deployments: {
          A: { price: { input: 1, output: 1 } },
          B: { price: { input: 9, output: 9 } },
          C: { price: { input: 2, output: 2 } },
        },
      });
      await serve(scene, 10);
      expect(scene.A.calls.length).toBeGreaterThanOrEqual(8);
      scene.A.answer(BROKEN);
      const failed = scene.A.calls.length;
      while (scene.A.calls.length === failed) await serve(scene, 1);
      const before = scene.counts;
      await serve(scene, 10);
      const since = callsSince(scene, before);
      expect(since["A"]).toBe(0);
      expect(since["C"]).toBeGreaterThanOrEqual(8);
    });

    it.concurrent("S5 'Usage Based': the fewest tokens of this minute", async () => {
      await using scene = await stage.scene({ ...POOL, policy: { strategy: "lowest_usage" } });
      const left = 60_000 - (Date.now() % 60_000);
      if (left < 8_000) await sleep(left + 50);
      scene.A.answer(answerOf(900_000));
      scene.B.answer(answerOf(900_000));
      scene.C.answer(answerOf(1));
      while (scene.A.calls.length === 0 || scene.B.calls.length === 0) await serve(scene, 1);
      // What a forwarder counted reaches the router with its next report.
      await sleep(400);
      const before = scene.counts;
      await serve(scene, 10);
      expect(callsSince(scene, before)).toEqual({ A: 0, B: 0, C: 10 });
    });
  });

const BACKED: SceneSpec = {
  preset: "cooldown_pool",
  pool: ["A"],
  groups: { first: { order: ["B"] }, second: { order: ["C"] } },
  defaultFallbacks: ["first", "second"],
};

const anEmptyPool = (stage: Stage): unknown =>
  describe("an empty pool", () => {
    it.concurrent("G3, R7 'every eligible model is in cooldown: the Gateway tries the global Fallback Models list'", async () => {
      await using scene = await stage.scene(BACKED);
      scene.A.answer(BROKEN);
      scene.B.answer(OK("b"));
      await serve(scene, 1);
      const calls = scene.A.calls.length;
      const [reply] = await serve(scene, 1);
      expect(scene.A.calls.length).toBe(calls);
      expect(reply?.content).toBe("b");
      expect(reply?.headers.get("x-ants-model-group")).toBe(scene.groupOf("first"));
      expect(scene.C.calls.length).toBe(0);
    });

    it.concurrent("G3 'the global Fallback Models list' is walked in its order", async () => {
      await using scene = await stage.scene(BACKED);
      scene.A.answer(BROKEN);
      scene.B.answer(BROKEN);
      scene.C.answer(OK("c"));
      const [reply] = await serve(scene, 1);
      expect(reply?.attempts.map(({ outcome }) => outcome)).toEqual(["retryable", "retryable", "ok"]);
      expect(reply?.headers.get("x-ants-model-group")).toBe(scene.groupOf("second"));
      // All that is in cooldown is passed over.
      const [again] = await serve(scene, 1);
      expect(again?.attempts.length).toBe(1);
    });

    it.concurrent("R7 'if that fails too, the retry policy applies': refused, with the time until it may be tried again", async () => {
      await using scene = await stage.scene(BACKED);
      for (const name of ALL) scene[name].answer(BROKEN);
      expect((await scene.ask()).status).toBe(500);
      const refused = await scene.ask();
      expect([refused.status, refused.error.code]).toEqual([503, "upstream_unavailable"]);
      const wait = Number(refused.headers.get("retry-after"));
      expect(wait).toBeGreaterThan(50);
      expect(wait).toBeLessThanOrEqual(60);
      expect(scene.counts).toEqual({ A: 1, B: 1, C: 1 });
    });
  });

forEachForm("cooldown_pool", {}, (stage) => {
  selectionOrder(stage);
  anEmptyPool(stage);
});
