import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { BROKEN, delayed, eventually, OK, SILENT, tooMany } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Reply } from "../support/gateway-client.ts";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

const SKIP = {
  failover: { max_deployments: 2 },
  bench: { failures: 0, rate_limit_skip: { default: "5s", max: "60s" } },
};

/** Resolves that long after `from`, a `performance.now()` time: the cases' clock. */
function clock(from: number, ms: number): Promise<void> {
  return sleep(Math.max(0, from + ms - performance.now()));
}

/**
 * Four requests wait at A, which then refuses them: the first at once, the others 50 ms later. Those that the other
 * gateway sends are the second to the fourth.
 */
async function refuseFour(
  scene: Scene,
  first: Answer,
  later: Answer,
  otherGateway: boolean,
): Promise<number> {
  scene.B.answer(OK("b"));
  const hold = scene.A.hold();
  let refused = 0;
  scene.A.answer(() => {
    refused += 1;
    if (refused > 4) return OK("a");
    return refused === 1 ? first : delayed(50, later);
  });
  const waiting: Promise<Reply>[] = [];
  while (scene.A.calls.length < 4) {
    const sender = otherGateway && scene.A.calls.length > 0 ? scene.via(1) : scene;
    const before = scene.A.calls.length;
    const asked = sender.ask();
    const served = await Promise.race([asked, hold.waitFor(before + 1).then(() => undefined)]);
    if (served === undefined) waiting.push(asked);
    else expect(served.content).toBe("b");
  }
  hold.release();
  const began = performance.now();
  for (const reply of await Promise.all(waiting)) {
    expect(reply.status).toBe(200);
    expect(reply.content).toBe("b");
  }
  return began;
}

/** Calls that A receives of ten requests two seconds on, and of twenty more six seconds on. */
async function callsLater(
  scene: Scene,
  began: number,
  otherGateway: boolean,
): Promise<readonly [number, number]> {
  const senders = otherGateway ? [scene, scene.via(1)] : [scene];
  await clock(began, 2_000);
  const before = scene.A.calls.length;
  for (let count = 0; count < 10; count += 1) {
    expect((await (senders[count % senders.length] ?? scene).ask()).content).toBe("b");
  }
  const cooled = scene.A.calls.length - before;
  await clock(began, 6_000);
  for (let count = 0; count < 20; count += 1) await scene.ask();
  return [cooled, scene.A.calls.length - before - cooled];
}

const SHORT = tooMany({ "Retry-After": "1" });

forEachForm("a bench", { replicas: 2 }, (stage) => {
  it.concurrent("BH-01 keeps the later end when the short one came first (invariant 4)", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"], policy: SKIP });
    const began = await refuseFour(scene, SHORT, tooMany(), false);
    const [cooled, later] = await callsLater(scene, began, false);
    expect(cooled).toBe(0);
    expect(later).toBeGreaterThan(0);
  });

  it.concurrent("BH-01 keeps the later end when the long one came first (invariant 4)", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"], policy: SKIP });
    const began = await refuseFour(scene, tooMany(), SHORT, false);
    const [cooled, later] = await callsLater(scene, began, false);
    expect(cooled).toBe(0);
    expect(later).toBeGreaterThan(0);
  });

  it.concurrent("BH-01 keeps the later end, with round_robin in place of equal weights", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"], policy: { strategy: "round_robin", ...SKIP } });
    const began = await refuseFour(scene, SHORT, tooMany(), false);
    const [cooled, later] = await callsLater(scene, began, false);
    expect(cooled).toBe(0);
    expect(later).toBeGreaterThan(0);
  });

  it.concurrent("BH-01 keeps the later end over two gateways that share health", async () => {
    await using scene = await stage.scene({ pool: ["A", "B"], policy: SKIP });
    const began = await refuseFour(scene, SHORT, tooMany(), true);
    const [cooled, later] = await callsLater(scene, began, true);
    expect(cooled).toBe(0);
    expect(later).toBeGreaterThan(0);
  });

  const cooling = { bench: { failures: 5, cooloff: "2s" }, attempt_timeout: "2s" };

  it.concurrent("BH-08 forgets a hanging request whose caller left, and serves again (R7, refuse)", async () => {
    const policy = { bench: { ...cooling.bench, when_all_benched: "refuse" }, attempt_timeout: "2s" };
    await using scene = await stage.scene({ order: ["A"], policy });
    scene.A.script([BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, SILENT, OK("up")]);
    for (let count = 0; count < 5; count += 1) expect((await scene.ask()).status).toBe(500);
    const benchedAt = performance.now();
    const refused = await scene.ask();
    expect(refused.status).toBe(503);
    expect(refused.error).toMatchObject({ code: "upstream_unavailable", type: "server_error" });
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
    expect(scene.counts).toEqual({ A: 5 });
    await clock(benchedAt, 2_200);
    await leaveAfter(scene, 300);
    await expectServedWithin5s(scene);
  });

  it.concurrent("BH-08 tries the one whose bench ends first while all are benched (R7, try_soonest)", async () => {
    await using scene = await stage.scene({ order: ["A"], policy: cooling });
    scene.A.script([BROKEN, BROKEN, BROKEN, BROKEN, BROKEN, SILENT, OK("up")]);
    for (let count = 0; count < 5; count += 1) expect((await scene.ask()).status).toBe(500);
    await leaveAfter(scene, 300);
    await expectServedWithin5s(scene);
  });
});

async function leaveAfter(scene: Scene, ms: number): Promise<void> {
  const leave = new AbortController();
  const asked = scene.ask({}, { signal: leave.signal }).then(
    () => "answered",
    (error: unknown) => (error instanceof Error ? error.name : "failed"),
  );
  await scene.A.waitForCalls(6);
  await sleep(ms);
  leave.abort();
  expect(await asked).toBe("AbortError");
}

async function expectServedWithin5s(scene: Scene): Promise<void> {
  await eventually(async () => expect((await scene.ask()).content).toBe("up"), { within: 5_000, every: 300 });
  for (let count = 0; count < 5; count += 1) expect((await scene.ask()).status).toBe(200);
}
