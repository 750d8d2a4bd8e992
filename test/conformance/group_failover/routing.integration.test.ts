import { expect, it } from "vitest";
import { BROKEN, delayed, embeddings, eventually, failure, OK } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Scene, SceneSpec } from "../../support/gateway-scene.ts";
import { forEachForm } from "../../support/gateway-stage.ts";
import { named, PAIR } from "../support/calls.ts";

const PRESET = { preset: "group_failover" };
/** The first serves, as good as always; then the others in this order. */
const IN_ORDER: SceneSpec["deployments"] = {
  A: { weight: 1_000_000 },
  B: { weight: 2 },
  C: { weight: 1 },
};
const EMBED = { path: "/v1/embeddings" };
const VECTOR: Answer = embeddings([[1, 2]]);

async function askMany(scene: Scene, count: number): Promise<void> {
  for (let done = 0; done < count; done += 10) {
    const replies = await Promise.all(Array.from({ length: 10 }, () => scene.ask()));
    for (const { status } of replies) expect(status).toBe(200);
  }
}

forEachForm("A: model groups", {}, (stage) => {
  it.concurrent("They name a model group, and it is decided which provider model serves (R1)", async () => {
    await using scene = await stage.scene({ ...PRESET, order: ["A"] });
    expect((await scene.ask()).status).toBe(200);
    expect(scene.A.calls[0]?.json()).toMatchObject({ model: "m-A" });
    const provider = `up-a-${scene.group.slice(2)}`;
    for (const model of ["m-A", `${provider}/m-A`]) {
      const { status, error } = await scene.ask({ model });
      expect([status, error.code]).toEqual([403, "model_not_allowed"]);
    }
  });

  it.concurrent("The same provider model can appear more than once with different credentials (section 1)", async () => {
    const deployments = { A: { model: "same" }, B: { model: "same" } };
    await using scene = await stage.scene({ ...PRESET, deployments });
    named(scene, PAIR);
    await askMany(scene, 40);
    for (const [{ calls }, key] of [
      [scene.A, /UPKEY-A/],
      [scene.B, /UPKEY-B/],
    ] as const) {
      expect(calls.length).toBeGreaterThan(5);
      expect(calls[0]?.json()).toMatchObject({ model: "same" });
      expect(calls[0]?.header("authorization")).toMatch(key);
    }
    scene.A.answer(failure(401, { message: "no" }));
    await askMany(scene, 20);
  });

  it.concurrent.for(["weighted", "least_busy", "lowest_latency", "lowest_cost"])(
    "Pause stops traffic to a model under every strategy, and resume lets it back: %s (K4)",
    async (strategy) => {
      const price = { input: 1, output: 1 };
      const deployments = {
        A: { weight: 1_000_000, price },
        B: { weight: 1, price: { input: 9, output: 9 } },
      };
      await using scene = await stage.scene({ ...PRESET, policy: { strategy }, deployments });
      named(scene, PAIR);
      await scene.change({ deployments: { ...deployments, A: { ...deployments.A, paused: true } } });
      await askMany(scene, 20);
      expect(scene.counts).toEqual({ A: 0, B: 20 });
      await scene.change({ deployments });
      await askMany(scene, 20);
      expect(scene.A.calls.length).toBeGreaterThan(0);
    },
  );

  it.concurrent.for([
    ["every model is paused", { A: { paused: true }, B: { paused: true } }],
    ["every model has weight 0 under Weighted", { A: { weight: 0 }, B: { weight: 0 } }],
    ["one is paused and the other has weight 0", { A: { paused: true }, B: { weight: 0 } }],
  ] as const)("Refused with 503 no_deployment_available because %s (R6)", async ([, deployments]) => {
    const policy = { fallback: { general: "other" } };
    const groups = { other: { order: ["C" as const], policy: { fallback: {} } } };
    await using scene = await stage.scene({ ...PRESET, deployments, policy, groups });
    const { status, error } = await scene.ask();
    expect([status, error.code]).toEqual([503, "no_deployment_available"]);
    expect(scene.counts).toEqual({ A: 0, B: 0, C: 0 });
  });

  it.concurrent("Weighted: a model of weight 0 takes no traffic, not even after failures (S1)", async () => {
    const policy = { retry: { max_retries: 0 }, bench: { failures: 0 } };
    await using scene = await stage.scene({ ...PRESET, policy, deployments: { B: { weight: 0 } } });
    scene.A.answer(BROKEN);
    for (let count = 0; count < 5; count += 1) expect((await scene.ask()).status).toBe(500);
    expect(scene.counts).toEqual({ A: 5, B: 0 });
  });

  it.concurrent("An exploration share of about 10 % until a model has a history of 20 (S4)", async () => {
    const deployments = {
      A: { price: { input: 1, output: 1 } },
      B: { price: { input: 9, output: 9 } },
    };
    await using scene = await stage.scene({ ...PRESET, policy: { strategy: "lowest_cost" }, deployments });
    named(scene, PAIR);
    await askMany(scene, 100);
    // Until A has its own 20 its turns explore it too.
    expect(scene.B.calls.length).toBeGreaterThanOrEqual(7);
    expect(scene.B.calls.length).toBeLessThanOrEqual(11);
    await askMany(scene, 200);
    expect(scene.B.calls.length).toBeGreaterThanOrEqual(20);
    // The last of them reach the router with a report.
    await eventually(async () => {
      const known = scene.B.calls.length;
      await askMany(scene, 50);
      expect(scene.B.calls.length - known).toBeLessThanOrEqual(1);
    });
  });

  it.concurrent("Weight only breaks ties under the three others (S3)", async () => {
    const price = { input: 1, output: 1 };
    const deployments = { A: { weight: 1, price }, B: { weight: 2, price } };
    await using scene = await stage.scene({ ...PRESET, policy: { strategy: "lowest_cost" }, deployments });
    await askMany(scene, 50);
    expect(scene.B.calls.length).toBeGreaterThanOrEqual(43);
    await scene.change({
      deployments: { A: deployments.A, B: { weight: 1_000, price: { input: 2, output: 2 } } },
    });
    const before = scene.B.calls.length;
    await askMany(scene, 50);
    expect(scene.B.calls.length - before).toBeLessThanOrEqual(7);
  });

  it.concurrent.for(["least_busy", "lowest_latency", "lowest_cost"])(
    "A weight of 0 does not stop traffic: %s (S3)",
    async (strategy) => {
      const deployments = {
        A: { weight: 0, price: { input: 1, output: 1 } },
        B: { weight: 9, price: { input: 9, output: 9 } },
      };
      await using scene = await stage.scene({ ...PRESET, policy: { strategy }, deployments });
      scene.B.answer(delayed(60, OK("B")));
      await askMany(scene, 60);
      expect(scene.A.calls.length).toBeGreaterThan(15);
    },
  );

  it.concurrent.for([
    ["chat completions", "/v1/chat/completions", OK("A")],
    ["embeddings", "/v1/embeddings", VECTOR],
  ] as const)(
    "A key granted one group can leave model out or send it empty; with two it is 403 with the list: %s (R2)",
    async ([, path, answer]) => {
      await using one = await stage.scene({ ...PRESET, order: ["A"] });
      one.A.answer(answer);
      const body = { input: "hi" };
      expect((await one.ask({ ...body, model: undefined }, { path })).status).toBe(200);
      expect((await one.ask({ ...body, model: "" }, { path })).status).toBe(200);
      await using two = await stage.scene({ ...PRESET, order: ["A"], groups: { other: { order: ["B"] } } });
      for (const model of [undefined, ""]) {
        const { status, error } = await two.ask({ ...body, model }, { path });
        expect([status, error.code]).toEqual([403, "model_not_allowed"]);
        for (const name of [two.group, two.groupOf("other")]) expect(error.message).toContain(name);
      }
      expect(two.counts).toEqual({ A: 0, B: 0 });
    },
  );

  it.concurrent("Embeddings follow the same retry, failover, benching and fallback rules (E1, E3, B1, G1)", async () => {
    const policy = { retry: { max_retries: 1, initial_backoff: "1ms" }, fallback: { general: "other" } };
    await using scene = await stage.scene({
      ...PRESET,
      deployments: IN_ORDER,
      policy,
      groups: { other: { order: ["C"], policy: { fallback: {} } } },
    });
    for (const broken of [scene.A, scene.B]) broken.answer(BROKEN);
    scene.C.answer(VECTOR);
    const reply = await scene.ask({ input: "hi" }, EMBED);
    expect(reply.status).toBe(200);
    expect(scene.counts).toEqual({ A: 2, B: 2, C: 1 });
    expect(reply.headers.get("x-ants-model-group")).toBe(scene.groupOf("other"));
    // The third failure benches each; then the one whose bench ends first is tried, once.
    expect((await scene.ask({ input: "hi" }, EMBED)).status).toBe(200);
    expect(scene.counts).toEqual({ A: 3, B: 3, C: 2 });
    expect((await scene.ask({ input: "hi" }, EMBED)).status).toBe(200);
    expect(scene.counts).toEqual({ A: 4, B: 3, C: 3 });
  });

  it.concurrent("A mixed group still serves embeddings from its OpenAI-compatible models (R5)", async () => {
    await using scene = await stage.scene({
      ...PRESET,
      order: ["A", "B", "C"],
      providers: { A: { family: "azure_openai", api_version: "2024-10-21" }, B: { family: "anthropic" } },
    });
    scene.C.answer(VECTOR);
    for (let count = 0; count < 10; count += 1) {
      expect((await scene.ask({ input: "hi" }, EMBED)).status).toBe(200);
    }
    expect(scene.counts).toEqual({ A: 0, B: 0, C: 10 });
  });

  it.concurrent("A group with no model that offers embeddings is refused with 400 embeddings_not_supported (R5)", async () => {
    await using scene = await stage.scene({
      ...PRESET,
      providers: { A: { family: "azure_openai", api_version: "2024-10-21" }, B: { family: "anthropic" } },
    });
    const { status, error } = await scene.ask({ input: "hi" }, EMBED);
    expect([status, error.code]).toEqual([400, "embeddings_not_supported"]);
    expect(scene.counts).toEqual({ A: 0, B: 0 });
  });
});
