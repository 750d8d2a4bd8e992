import { expect, it } from "vitest";
import { BROKEN, failure, json, OK } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Scene, SceneSpec } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const ANTHROPIC = { family: "anthropic" };
const ALL_ANTHROPIC = { A: ANTHROPIC, B: ANTHROPIC, C: ANTHROPIC };

/** One group for each upstream, each the next one's fallback; a loop would be refused when saved (G1). */
function chained(more: Partial<SceneSpec>): SceneSpec {
  return {
    order: ["A"],
    policy: {
      fallback: { general: "second" },
      retry: { max_retries: 2, jitter: false, initial_backoff: "1ms" },
    },
    groups: {
      second: { order: ["B"], policy: { fallback: { general: "third" } } },
      third: { order: ["C"], policy: { fallback: {} } },
    },
    ...more,
  };
}

/** An old turn whose tool call has arguments that are no JSON. */
const BROKEN_CALL = {
  max_tokens: 9,
  messages: [
    { role: "user", content: "x" },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "call_1", type: "function", function: { name: "f", arguments: '{"a": ' } }],
    },
    { role: "tool", tool_call_id: "call_1", content: "r" },
  ],
  tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
};

async function serve(scene: Scene, count: number, content: string): Promise<void> {
  for (let done = 0; done < count; done += 1) {
    const reply = await scene.ask({ max_tokens: 9 });
    expect(reply.status).toBe(200);
    expect(reply.content).toBe(content);
  }
}

function refusedBy(message: string): Answer {
  return json(400, { type: "error", error: { type: "invalid_request_error", message } });
}

forEachForm("whose fault it is", {}, (stage) => {
  it.concurrent.for([
    [
      "402 from OpenRouter",
      "openrouter",
      failure(402, { message: "Insufficient credits on this account", code: 402 }),
    ],
    ["400 from Anthropic", "anthropic", refusedBy("Your credit balance is too low to use this API")],
  ] as const)(
    "BH-02: an account without money is passed over after one call, %s",
    async ([, family, broke]) => {
      await using scene = await stage.scene({ providers: { A: { family } } });
      scene.A.answer(broke);
      scene.B.answer(OK("b"));
      await serve(scene, 6, "b");
      expect(scene.counts).toEqual({ A: 1, B: 6 });
    },
  );

  it.concurrent("BH-02: a mistake of the caller's is answered, and benches nobody", async () => {
    await using scene = await stage.scene({ providers: { A: ANTHROPIC } });
    scene.A.answer(refusedBy("max_tokens: must be at least 1"));
    for (const calls of [1, 2]) {
      const reply = await scene.ask({ max_tokens: 9 });
      expect(reply.status).toBe(400);
      expect(reply.error.message).toContain("max_tokens: must be at least 1");
      expect(scene.counts).toEqual({ A: calls, B: 0 });
    }
  });

  it.concurrent("BH-03: what can't be translated is a 400 before any call, and quickly so", async () => {
    await using scene = await stage.scene(chained({ providers: ALL_ANTHROPIC }));
    const before = scene.gateway.logs().length;
    const refused = Array.from({ length: 50 }, () => scene.ask(BROKEN_CALL));
    for (const ops of scene.gateway.ops) {
      const healthy = performance.now();
      expect((await fetch(`${ops}/healthz`)).status).toBe(200);
      expect(performance.now() - healthy).toBeLessThan(5_000);
    }
    for (const { status, error, ms } of await Promise.all(refused)) {
      expect([status, error.type]).toEqual([400, "invalid_request_error"]);
      expect(ms).toBeLessThan(8_000);
      expect(error.message).toMatch(/tool_calls\.0\b/);
    }
    expect(scene.counts).toEqual({ A: 0, B: 0, C: 0 });
    expect(scene.gateway.logs().length - before).toBeLessThan(64 * 1024);
  });

  it.concurrent("BH-03 P1: the same request passes to an OpenAI-shaped provider byte for byte", async () => {
    await using scene = await stage.scene({ order: ["A"] });
    expect((await scene.ask(BROKEN_CALL)).status).toBe(200);
    expect(scene.A.calls).toHaveLength(1);
    expect(scene.A.calls[0]?.json()).toMatchObject({ messages: BROKEN_CALL.messages });
  });

  it.concurrent("BH-03 G1: each group of a chain is tried once, and then it is one error", async () => {
    const policy = { fallback: { general: "second" }, retry: { max_retries: 0 } };
    await using scene = await stage.scene(chained({ policy }));
    for (const each of [scene.A, scene.B, scene.C]) each.answer(BROKEN);
    expect((await scene.ask()).status).toBe(500);
    expect(scene.counts).toEqual({ A: 1, B: 1, C: 1 });
  });
});

forEachForm("what a key may name", {}, (stage) => {
  const two: SceneSpec = { groups: { other: { order: ["B"] } } };

  it.concurrent("R2: without a model the only group serves; with two it is a refusal that lists them", async () => {
    await using one = await stage.scene({ order: ["A"] });
    expect((await one.ask({ model: undefined })).status).toBe(200);
    expect((await one.ask({ model: "" })).status).toBe(200);
    await using several = await stage.scene(two);
    for (const model of [undefined, "", "nobody's"]) {
      const refused = await several.ask({ model });
      expect([refused.status, refused.error.code]).toEqual([403, "model_not_allowed"]);
      for (const name of [several.group, several.groupOf("other")])
        expect(refused.error.message).toContain(name);
    }
    expect(several.counts).toEqual({ A: 0, B: 0 });
  });

  it.concurrent("R3: a pinned key goes to its group whatever it names", async () => {
    await using scene = await stage.scene({ order: ["A"], key: { ignore_model: true } });
    expect((await scene.ask({ model: "gpt-anything" })).status).toBe(200);
    expect(scene.A.calls[0]?.json()).toMatchObject({ model: "m-A" });
  });

  it.concurrent("R9: a key that may names a provider's model itself, and only of its project", async () => {
    await using scene = await stage.scene({ key: { allow_direct: true } });
    const tag = scene.group.slice("g-".length);
    scene.B.answer(OK("b"));
    expect((await scene.ask({ model: `up-b-${tag}/m-B` })).content).toBe("b");
    scene.B.answer(BROKEN);
    expect((await scene.ask({ model: `up-b-${tag}/m-B` })).status).toBe(500);
    expect((await scene.ask({ model: `up-b-${tag}/m-A` })).status).toBe(403);
    expect(scene.A.calls).toHaveLength(0);
    await using other = await stage.scene();
    expect((await other.ask({ model: `up-b-${tag}/m-B` })).status).toBe(403);
  });
});
