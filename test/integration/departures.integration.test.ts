import { expect, it } from "vitest";
import { CH, delayed, eventually, FLUSH, HANG, OK, ROLE, sse, tooMany } from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

/** A request that the test can leave. */
function ask(scene: Scene, fields: object = {}): { leave(): Promise<void>; sent: Promise<Response> } {
  const controller = new AbortController();
  const sent = scene.send(fields, { signal: controller.signal });
  const settled = sent.then(
    () => undefined,
    () => undefined,
  );
  return {
    sent,
    leave: () => {
      controller.abort();
      return settled;
    },
  };
}

async function expectAbandoned(scene: Scene, left: number): Promise<void> {
  await eventually(() => expect(scene.A.calls[0]?.closedAt).toBeDefined());
  const [call] = scene.A.calls;
  expect(call?.abandoned).toBe(true);
  expect((call?.closedAt ?? Number.NaN) - left).toBeLessThan(5_000);
}

async function expectLogged(scene: Scene, pattern: RegExp): Promise<void> {
  await eventually(() => {
    const lines = scene.gateway.logs().split("\n");
    expect(lines.filter((line) => line.includes(`"${scene.group}"`) && pattern.test(line))).not.toEqual([]);
  });
}

forEachForm("a caller that leaves", {}, (stage) => {
  it.concurrent("BH-18 takes the provider's call along: no retry, no failover, no bench", async () => {
    await using scene = await stage.scene({ policy: { retry: { max_retries: 2 } } });
    scene.A.script([delayed(10_000, OK("late")), OK("a")]);
    scene.B.answer(OK("b"));
    const asked = ask(scene);
    await scene.A.waitForCalls(1);
    expect(await scene.inFlight()).toBe(1);
    const left = performance.now();
    await asked.leave();
    await expectAbandoned(scene, left);
    await eventually(async () => expect(await scene.inFlight()).toBe(0));
    await expectLogged(scene, /"status":499/);
    expect((await scene.ask()).content).toBe("a");
    expect(scene.counts).toEqual({ A: 2, B: 0 });
  });

  it.concurrent("BH-18 takes a running stream along", async () => {
    await using scene = await stage.scene();
    scene.A.answer(sse([ROLE, FLUSH, CH({ content: "one" }), FLUSH, HANG]));
    const asked = ask(scene, { stream: true });
    const response = await asked.sent;
    const reader = response.body?.getReader();
    await reader?.read();
    const left = performance.now();
    await reader?.cancel();
    await expectAbandoned(scene, left);
    await eventually(async () => expect(await scene.inFlight()).toBe(0));
    scene.A.answer(OK("a"));
    expect((await scene.ask()).content).toBe("a");
    expect(scene.counts).toEqual({ A: 2, B: 0 });
  });

  it.concurrent("BH-18 ends the wait before a retry", async () => {
    await using scene = await stage.scene({
      order: ["A"],
      policy: { retry: { max_retries: 2 }, bench: { failures: 9 } },
    });
    scene.A.script([tooMany({ "Retry-After": "1" }), OK("never")]);
    const asked = ask(scene);
    await scene.A.waitForCalls(1);
    await eventually(async () => {
      expect(scene.A.calls[0]?.answeredAt).toBeDefined();
      expect(await scene.inFlight()).toBe(0);
    });
    await asked.leave();
    await expectLogged(scene, /"status":499/);
    // A second call would come a second after the first: time that has to pass to show that none does.
    const first = scene.A.calls[0]?.at ?? Number.NaN;
    await eventually(() => expect(performance.now() - first).toBeGreaterThan(1_500), { within: 3_000 });
    expect(scene.counts).toEqual({ A: 1 });
  });
});
