import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { BROKEN, CH, delayed, DONE, FLUSH, json, OK, ROLE, RST, sse } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Reply } from "../support/gateway-client.ts";
import type { Scene, UpstreamName } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const ALL: readonly UpstreamName[] = ["A", "B", "C"];
const NO_BENCH = { bench: { failures: 0 } };
const RESET_LATER: Answer = sse([ROLE, CH({ content: "x" }), FLUSH, RST]);
const ERROR_IN_STREAM: Answer = sse(['data: {"error":{"message":"x","type":"server_error"}}\n\n']);

async function ask(scene: Scene, count: number, body: object = {}): Promise<readonly Reply[]> {
  const replies: Reply[] = [];
  for (let done = 0; done < count; done += 1) replies.push(await scene.ask(body));
  return replies;
}

const BODIES: Readonly<Record<string, (index: number) => object>> = {
  "/v1/chat/completions": (index) => ({ user: `u-${index}` }),
  "/v1/messages": (index) => ({ max_tokens: 9, metadata: { user_id: `u-${index}` } }),
  "/v1/responses": (index) => ({ messages: undefined, input: `hello ${index}`, store: false }),
};

async function atOnce(scene: Scene, count: number, path = "/v1/chat/completions"): Promise<void> {
  const asked = Array.from({ length: count }, (_, index) => scene.ask(BODIES[path]?.(index) ?? {}, { path }));
  for (const { status } of await Promise.all(asked)) expect(status).toBe(200);
}

function callsSince(scene: Scene, before: Readonly<Record<string, number>>): number[] {
  return Object.entries(scene.counts).map(([name, calls]) => calls - (before[name] ?? 0));
}

/** A limit counts by the minute: what needs one starts where enough of it is left. */
async function enoughOfAMinute(ms: number): Promise<void> {
  const left = 60_000 - (Date.now() % 60_000);
  if (left < ms) await sleep(left + 50);
}

forEachForm("a strategy", { replicas: 2 }, (stage) => {
  it.concurrent("S1: weights share the traffic", async () => {
    await using scene = await stage.scene({
      pool: ["A", "B"],
      policy: NO_BENCH,
      deployments: { A: { weight: 3 }, B: { weight: 1 } },
    });
    for (let round = 0; round < 10; round += 1) await atOnce(scene, 20);
    expect(scene.A.calls.length).toBeGreaterThan(115);
    expect(scene.A.calls.length).toBeLessThan(185);
  });

  it.concurrent("S6: round_robin gives each deployment its turn", async () => {
    await using scene = await stage.scene({ pool: ALL, policy: { strategy: "round_robin", ...NO_BENCH } });
    await ask(scene, 30);
    expect(scene.counts).toEqual({ A: 10, B: 10, C: 10 });
  });

  it.concurrent("BH-09 S7: least_busy spreads what comes at once and what comes after each other", async () => {
    await using scene = await stage.scene({ pool: ALL, policy: { strategy: "least_busy", ...NO_BENCH } });
    for (const each of [scene.A, scene.B, scene.C]) each.answer(delayed(300, OK("x")));
    await atOnce(scene, 30);
    for (const calls of Object.values(scene.counts)) {
      expect(calls).toBeGreaterThanOrEqual(8);
      expect(calls).toBeLessThanOrEqual(12);
    }
    for (const each of [scene.A, scene.B, scene.C]) each.answer(delayed(20, OK("x")));
    const before = scene.counts;
    await ask(scene, 30);
    for (const calls of callsSince(scene, before)) expect(calls).toBeGreaterThanOrEqual(5);
    expect(await scene.inFlight()).toBe(0);
  });

  it.concurrent("BH-09 S7: departures, failures and resets leave no call counted", async () => {
    const policy = { strategy: "least_busy", failover: { on: [] }, ...NO_BENCH };
    await using scene = await stage.scene({ pool: ALL, policy });
    const each = [scene.A, scene.B, scene.C];
    for (const [path, bodyOf] of Object.entries(BODIES)) {
      for (const one of each) one.answer(delayed(2_000, OK("late")));
      await Promise.all(Array.from({ length: 20 }, (_, index) => leave(scene, bodyOf(index), path)));
      for (const one of each) one.answer(BROKEN);
      for (let count = 0; count < 20; count += 1)
        expect((await scene.ask(bodyOf(count), { path })).status).toBe(500);
      for (const one of each) one.answer(RESET_LATER);
      for (let count = 0; count < 20; count += 1)
        expect((await scene.stream(bodyOf(count), { path })).status).toBe(200);
      for (const one of each) one.answer(delayed(300, OK("x")));
      const before = scene.counts;
      await atOnce(scene, 30, path);
      for (const calls of callsSince(scene, before)) {
        expect(calls).toBeGreaterThanOrEqual(8);
        expect(calls).toBeLessThanOrEqual(12);
      }
    }
    expect(await scene.inFlight()).toBe(0);
  });

  it.concurrent.for([
    ["an error", delayed(5, BROKEN), false],
    ["an error in a stream", delayed(5, ERROR_IN_STREAM), true],
  ] as const)("BH-10 S3: lowest_latency does not love %s that comes fast", async ([, fast, stream]) => {
    const policy = { strategy: "lowest_latency", ...NO_BENCH };
    await using scene = await stage.scene({ pool: ["A", "B"], policy });
    scene.A.answer(fast);
    scene.B.answer(
      stream ? delayed(120, sse([ROLE, CH({ content: "b" }), CH({}, "stop"), DONE])) : delayed(120, OK("b")),
    );
    const serve = async (count: number): Promise<void> => {
      for (let done = 0; done < count; done += 1) {
        if (stream) expect((await scene.stream()).status).toBe(200);
        else expect((await scene.ask()).status).toBe(200);
      }
    };
    await serve(10);
    const before = scene.A.calls.length;
    await serve(20);
    expect(scene.A.calls.length - before).toBeLessThanOrEqual(2);
    if (stream) return;
    scene.A.answer(delayed(20, OK("a")));
    const recovered = scene.A.calls.length;
    await serve(60);
    expect(scene.A.calls.length - recovered).toBeGreaterThan(30);
  });

  it.concurrent("S3: lowest_cost takes the cheapest, and the next when that fails", async () => {
    await using scene = await stage.scene({
      pool: ALL,
      policy: { strategy: "lowest_cost", failover: { order: "strategy" }, ...NO_BENCH },
      deployments: {
        A: { price: { input: 3, output: 3 } },
        B: { price: { input: 1, output: 1 } },
        C: { price: { input: 2, output: 2 } },
      },
    });
    await ask(scene, 20);
    const first = scene.counts;
    expect(first["B"]).toBeGreaterThanOrEqual(16);
    scene.B.answer(BROKEN);
    const [reply] = await ask(scene, 1);
    expect(reply?.status).toBe(200);
  });

  it.concurrent("S5: a deployment at its limit is skipped, and with all there it is 429 with Retry-After", async () => {
    await using scene = await stage.scene({
      order: ["A", "B"],
      policy: NO_BENCH,
      deployments: { A: { limits: { rpm: 3 } }, B: { limits: { rpm: 2 } } },
    });
    await enoughOfAMinute(10_000);
    // Between a decision and the next report a router may miss a call for some milliseconds.
    const replies = await ask(scene, 10);
    const refused = replies.filter(({ status }) => status !== 200);
    expect(refused.length).toBeGreaterThanOrEqual(3);
    expect(scene.A.calls.length).toBeGreaterThanOrEqual(3);
    expect(scene.B.calls.length).toBeGreaterThanOrEqual(2);
    for (const { status, error, headers } of refused) {
      expect([status, error.code]).toEqual([429, "rate_limit_exceeded"]);
      expect(Number(headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    }
  });

  it.concurrent("S5: lowest_usage goes by the tokens that answers report, over both gateways", async () => {
    await using scene = await stage.scene({
      pool: ["A", "B"],
      policy: { strategy: "lowest_usage", ...NO_BENCH },
    });
    await enoughOfAMinute(15_000);
    scene.A.answer(answerOf(40_000));
    scene.B.answer(answerOf(10));
    while (scene.A.calls.length === 0) await scene.ask();
    // What one forwarder counted reaches every router within a report.
    await sleep(400);
    const before = scene.counts;
    await ask(scene, 10);
    for (let count = 0; count < 10; count += 1) await scene.via(1).ask();
    expect(callsSince(scene, before)).toEqual([0, 20]);
  });
});

function answerOf(tokens: number): Answer {
  return json(200, {
    id: "c1",
    object: "chat.completion",
    model: "up-model",
    choices: [{ index: 0, message: { role: "assistant", content: "x" }, finish_reason: "stop" }],
    usage: { prompt_tokens: tokens, completion_tokens: 1, total_tokens: tokens + 1 },
  });
}

async function leave(scene: Scene, body: object, path: string): Promise<void> {
  const signal = AbortSignal.timeout(150);
  await expect(scene.ask(body, { signal, path })).rejects.toThrow("aborted");
}
