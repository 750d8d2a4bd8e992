import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { BROKEN, eventually, OK, SILENT, tooMany, unauthorized } from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

async function ask(scene: Scene, count: number): Promise<void> {
  for (let done = 0; done < count; done += 1) expect((await scene.ask()).status).toBe(200);
}

forEachForm("what follows a bench", { replicas: 2 }, (stage) => {
  it.concurrent("B4: probes of one router at a time end a bench early, and failing ones do not", async () => {
    const bench = { failures: 1, cooloff: "60s", probe_share: 0.25 };
    await using scene = await stage.scene({ pool: ["A", "B"], policy: { bench } });
    scene.A.answer(BROKEN);
    while (scene.A.calls.length === 0) await ask(scene, 1);
    // Which router may probe is told within a second; then some of the traffic of both goes there, and fails over.
    await eventually(
      async () => {
        await ask(scene, 4);
        expect((await scene.via(1).ask()).status).toBe(200);
        expect(scene.A.calls.length).toBeGreaterThan(1);
      },
      { within: 8_000, every: 50 },
    );
    scene.A.answer(OK("a"));
    await eventually(
      async () => {
        const contents = [(await scene.ask()).content, (await scene.via(1).ask()).content];
        expect(contents).toEqual(["a", "a"]);
      },
      { within: 8_000, every: 20 },
    );
    const before = scene.A.calls.length;
    for (let count = 0; count < 10; count += 1) {
      await ask(scene, 1);
      expect((await scene.via(1).ask()).status).toBe(200);
    }
    expect(scene.A.calls.length - before).toBeGreaterThanOrEqual(3);
  });

  it.concurrent("BH-08 B4: a probe that hangs and whose caller left blocks nobody", async () => {
    const policy = {
      bench: { failures: 1, cooloff: "60s", probe_share: 1, when_all_benched: "refuse" },
      attempt_timeout: "2s",
    };
    await using scene = await stage.scene({ order: ["A"], policy });
    scene.A.script([BROKEN, SILENT, OK("up")]);
    expect((await scene.ask()).status).toBe(500);
    await eventually(
      async () => {
        // Only one of the two routers may probe; the other refuses, and says for how long.
        for (const gateway of [scene, scene.via(1)]) {
          const reply = await gateway.ask({}, { signal: AbortSignal.timeout(300) }).catch(() => undefined);
          if (reply?.status !== 503) continue;
          expect(Number(reply.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
        }
        expect(scene.A.calls.length).toBeGreaterThanOrEqual(2);
      },
      { within: 8_000, every: 50 },
    );
    await eventually(
      async () => {
        await scene.via(1).ask();
        expect((await scene.ask()).content).toBe("up");
      },
      { within: 5_000, every: 100 },
    );
    for (let count = 0; count < 5; count += 1) expect((await scene.ask()).content).toBe("up");
  });

  it.concurrent("bench.ramp: traffic returns in steps, not at once", async () => {
    const bench = { failures: 1, cooloff: "1s", ramp: [1, 50] };
    await using scene = await stage.scene({ pool: ["A", "B"], policy: { bench } });
    scene.A.answer(BROKEN);
    while (scene.A.calls.length === 0) await ask(scene, 1);
    scene.A.answer(OK("a"));
    const before = scene.A.calls.length;
    await sleep(1_300);
    await ask(scene, 40);
    expect(scene.A.calls.length - before).toBeLessThanOrEqual(4);
  });

  it.concurrent("rate_limit_skip.learn: without a Retry-After it waits what this provider last asked for", async () => {
    const bench = { failures: 0, rate_limit_skip: { default: "60s", max: "60s", learn: true } };
    await using scene = await stage.scene({ order: ["A", "B"], policy: { bench } });
    scene.A.script([tooMany({ "Retry-After": "1" }), tooMany(), OK("a")]);
    await ask(scene, 1);
    await eventually(
      async () => {
        await ask(scene, 1);
        expect(scene.A.calls.length).toBeGreaterThanOrEqual(2);
      },
      { within: 5_000, every: 100 },
    );
    await eventually(async () => expect((await scene.ask()).content).toBe("a"), {
      within: 5_000,
      every: 100,
    });
  });

  it.concurrent("bench.table: one failure of a class that benches at once is enough", async () => {
    const bench = { failures: 0, table: [{ error: "auth", cooloff: "60s", scope: "provider" }] };
    await using scene = await stage.scene({ order: ["A", "B"], policy: { bench } });
    scene.A.answer(unauthorized());
    await ask(scene, 6);
    expect(scene.counts).toEqual({ A: 1, B: 6 });
  });

  it.concurrent("retry.budget: what is spent is neither retried nor moved, and the answer is the provider's", async () => {
    const policy = {
      bench: { failures: 0 },
      retry: { max_retries: 2, initial_backoff: "1ms", budget: { share: 0, per_second: 0 } },
    };
    await using scene = await stage.scene({ order: ["A", "B"], policy });
    scene.A.answer(BROKEN);
    expect((await scene.ask()).status).toBe(500);
    expect(scene.counts).toEqual({ A: 1, B: 0 });
  });

  it.concurrent("retry.budget: its calls a second are the cluster's, whichever router decides", async () => {
    const policy = { bench: { failures: 0 }, retry: { budget: { share: 0, per_second: 2 } } };
    await using scene = await stage.scene({ order: ["A", "B"], policy });
    scene.A.answer(BROKEN);
    // Routers say once a second that they are there.
    await sleep(1_200);
    const gateways = [scene, scene.via(1)];
    const asked = Array.from({ length: 60 }, (_, count) => (gateways[count % 2] ?? scene).ask());
    const served = (await Promise.all(asked)).filter(({ status }) => status === 200).length;
    // Ten seconds' worth is at hand, and what flows in meanwhile.
    expect(served).toBeGreaterThanOrEqual(18);
    expect(served).toBeLessThanOrEqual(28);
    expect(scene.counts).toEqual({ A: 60, B: served });
  });

  it.concurrent("retry.budget: a share of the requests may be tried again", async () => {
    const policy = { bench: { failures: 0 }, retry: { budget: { share: 0.25, per_second: 0 } } };
    await using scene = await stage.scene({ order: ["A", "B"], policy });
    scene.A.answer(BROKEN);
    let served = 0;
    for (let count = 0; count < 40; count += 1) if ((await scene.ask()).status === 200) served += 1;
    expect(served).toBeGreaterThanOrEqual(8);
    expect(served).toBeLessThanOrEqual(11);
  });
});
