import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { expect, it } from "vitest";
import { failure, OK, tooMany } from "@switchyard/testkit";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const MESSAGES = [{ role: "user" as const, content: "hi" }];
const BROKEN = failure(500, { message: "broke" });
const TWICE = { retry: { max_retries: 2, initial_backoff: "1ms" }, bench: { failures: 0 } };
const ONCE = { bench: { failures: 0 } };
const SDKS = ["openai", "anthropic"] as const;

interface Thrown {
  readonly status: number | undefined;
  readonly shouldRetry: string | null;
}

/** One call with a real SDK at its own defaults: 2 retries. What it throws after all its tries. */
async function callWith(sdk: (typeof SDKS)[number], scene: Scene, timeout = 600_000): Promise<Thrown> {
  const { key: apiKey, model } = scene;
  const called =
    sdk === "openai"
      ? new OpenAI({ baseURL: `${scene.http}/v1`, apiKey, timeout }).chat.completions.create({
          model,
          messages: MESSAGES,
        })
      : new Anthropic({ baseURL: scene.http, apiKey, timeout }).messages.create({
          model,
          max_tokens: 9,
          messages: MESSAGES,
        });
  try {
    await called;
  } catch (error) {
    const { status, headers } = error as { status?: number; headers?: Headers };
    return { status, shouldRetry: headers?.get("x-should-retry") ?? null };
  }
  return { status: 200, shouldRetry: null };
}

forEachForm("one budget of attempts from the SDK to the provider", {}, (stage) => {
  it.concurrent.for(SDKS)("E4: %s makes no more calls together than max_attempts says", async (sdk) => {
    await using scene = await stage.scene({ order: ["A"], policy: TWICE });
    scene.A.answer(BROKEN);
    expect(await callWith(sdk, scene)).toEqual({ status: 500, shouldRetry: null });
    expect(scene.counts).toEqual({ A: 6 });
  });

  it.concurrent.for(SDKS)("x-should-retry: %s stops once the attempts are spent", async (sdk) => {
    await using scene = await stage.scene({ order: ["A", "B"], policy: TWICE });
    scene.A.answer(BROKEN);
    scene.B.answer(BROKEN);
    expect(await callWith(sdk, scene)).toEqual({ status: 500, shouldRetry: "false" });
    expect(scene.counts).toEqual({ A: 3, B: 3 });
  });

  const OUT_OF_CREDIT = failure(429, { message: "no credit", code: "insufficient_quota" });
  const FINAL: readonly [string, SceneSpec, number, Readonly<Record<string, number>>][] = [
    ["quota", { order: ["A", "B"] }, 429, { A: 1, B: 1 }],
    ["a spent retry budget", budgeted(), 500, { A: 1 }],
  ];
  for (const sdk of SDKS) {
    it.concurrent.for(FINAL)(
      `x-should-retry: ${sdk} does not come back after %s`,
      async ([, spec, status, counts]) => {
        await using scene = await stage.scene({ ...spec, policy: { ...ONCE, ...spec.policy } });
        for (const name of Object.keys(counts)) {
          const upstream = name === "A" ? scene.A : scene.B;
          upstream.answer(status === 429 ? OUT_OF_CREDIT : BROKEN);
        }
        expect(await callWith(sdk, scene)).toEqual({ status, shouldRetry: "false" });
        expect(scene.counts).toEqual(counts);
      },
    );
  }

  it.concurrent.for(SDKS)(
    "x-should-retry: %s gets the provider's own word, whatever ours would be",
    async (sdk) => {
      await using scene = await stage.scene({ order: ["A"], policy: { ...ONCE, max_attempts: 1 } });
      const again = tooMany({ "Retry-After": "0", "x-should-retry": "true" });
      scene.A.script([again, OK("late")]);
      expect((await callWith(sdk, scene)).status).toBe(200);
      expect(scene.counts).toEqual({ A: 2 });
    },
  );

  it.concurrent("x-should-retry: a request that is the caller's to mend says so", async () => {
    await using scene = await stage.scene();
    const refused = await scene.send({ model: "nobody-s", messages: MESSAGES });
    expect([refused.status, refused.headers.get("x-should-retry")]).toEqual([403, "false"]);
    await refused.body?.cancel();
    const unread = await scene.send({ model: scene.model, messages: 7 }, { path: "/v1/nowhere" });
    expect([unread.status, unread.headers.get("x-should-retry")]).toEqual([404, "false"]);
    await unread.body?.cancel();
  });

  it.concurrent("E4: the SDK's own time-out bounds the request", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: ONCE });
    const held = scene.A.hold();
    const began = performance.now();
    const late = await scene.send(
      { model: scene.model, messages: MESSAGES },
      { headers: { "x-stainless-timeout": "1" } },
    );
    expect(late.status).toBe(504);
    expect(performance.now() - began).toBeLessThan(10_000);
    await late.body?.cancel();
    held.release();
  });
});

function budgeted(): SceneSpec {
  return { order: ["A"], policy: { retry: { max_retries: 2, budget: { share: 0, per_second: 0 } } } };
}
