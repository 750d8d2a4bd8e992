import { setTimeout as sleep } from "node:timers/promises";
import { expect, it } from "vitest";
import { BROKEN, eventually, failure, OK, SILENT, tooMany } from "@switchyard/testkit";
import type { Scene, SceneSpec } from "../../support/gateway-scene.ts";
import type { Stage } from "../../support/gateway-stage.ts";
import { named, PAIR } from "../support/calls.ts";

/** A serves, as good as always, and then B. The document lets one set retries, failures, window and cooling-off. */
const IN_ORDER: SceneSpec = {
  preset: "group_failover",
  deployments: { A: { weight: 1_000_000 }, B: { weight: 1 } },
};
const NO_RETRIES = { retry: { max_retries: 0 } };

async function served(scene: Scene, count: number, content: string): Promise<void> {
  for (let done = 0; done < count; done += 1) expect((await scene.ask()).content).toBe(content);
}

/** What the document says of benching and of waiting, as part of a file that has a stage already: each case waits. */
export function benchingCases(stage: Stage): void {
  it.concurrent("A model is benched for the Cooling-off period, then serves again (B1, B5)", async () => {
    const policy = { ...NO_RETRIES, bench: { cooloff: "1500ms" } };
    await using scene = await stage.scene({ ...IN_ORDER, policy });
    named(scene, PAIR);
    scene.A.script([BROKEN, BROKEN, BROKEN, OK("A")]);
    await served(scene, 5, "B");
    expect(scene.A.calls.length).toBe(3);
    await eventually(async () => expect((await scene.ask()).content).toBe("A"), { every: 100 });
    const [, , third, fourth] = scene.A.calls;
    expect((fourth?.at ?? 0) - (third?.at ?? 0)).toBeGreaterThan(1_400);
  });

  it.concurrent("Failures count within the Failure window only (B1)", async () => {
    const policy = { ...NO_RETRIES, bench: { window: "200ms" } };
    await using scene = await stage.scene({ ...IN_ORDER, policy });
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    for (let count = 1; count <= 4; count += 1) {
      await served(scene, 1, "B");
      expect(scene.A.calls.length).toBe(count);
      await sleep(300);
    }
  });

  it.concurrent("Only real failures count: caller errors (400, 413, 422) do not (B1)", async () => {
    await using scene = await stage.scene({ ...IN_ORDER, policy: { bench: { failures: 1 } } });
    for (const status of [400, 413, 422, 400]) {
      scene.A.answer(failure(status, { message: "your mistake", type: "invalid_request_error" }));
      const reply = await scene.ask();
      expect([reply.status, reply.error.message]).toEqual([status, "your mistake"]);
    }
    expect(scene.counts).toEqual({ A: 4, B: 0 });
  });

  it.concurrent("Only real failures count: client disconnects do not (section 5, cancelled)", async () => {
    await using scene = await stage.scene({ ...IN_ORDER, policy: { bench: { failures: 1 } } });
    scene.A.answer(SILENT);
    for (let count = 1; count <= 3; count += 1) {
      const leave = new AbortController();
      const asked = scene.ask({}, { signal: leave.signal }).catch(() => "left");
      await scene.A.waitForCalls(count);
      leave.abort();
      expect(await asked).toBe("left");
    }
    await eventually(() => expect(scene.A.calls.every(({ abandoned }) => abandoned)).toBe(true));
    named(scene, PAIR);
    await served(scene, 3, "A");
  });

  it.concurrent("If every model is benched, the one closest to the end of its cooling-off is tried anyway (R7)", async () => {
    const policy = { ...NO_RETRIES, bench: { failures: 1 } };
    await using scene = await stage.scene({ ...IN_ORDER, policy });
    named(scene, PAIR);
    scene.A.answer(BROKEN);
    await served(scene, 1, "B");
    scene.B.answer(BROKEN);
    // B is benched later than A, so A is the one.
    expect((await scene.ask()).status).toBe(500);
    scene.A.answer(OK("A"));
    await served(scene, 3, "A");
    expect(scene.counts).toEqual({ A: 4, B: 2 });
  });

  it.concurrent("A Retry-After is honoured (E2)", async () => {
    await using scene = await stage.scene(IN_ORDER);
    scene.A.script([tooMany({ "Retry-After": "1" }), OK("A")]);
    await served(scene, 1, "A");
    const [first, second] = scene.A.calls;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(970);
    expect(scene.counts).toEqual({ A: 2, B: 0 });
  });

  it.concurrent("When Retry-After asks for longer than the time left, the model is benched until then (E2)", async () => {
    await using scene = await stage.scene({ ...IN_ORDER, policy: { request_timeout: "2s" } });
    named(scene, PAIR);
    scene.A.script([tooMany({ "Retry-After": "3" }), OK("A")]);
    const reply = await scene.ask();
    expect(reply.content).toBe("B");
    expect(reply.attempts.map(({ outcome }) => outcome)).toEqual(["benched", "ok"]);
    await served(scene, 3, "B");
    await eventually(async () => expect((await scene.ask()).content).toBe("A"), {
      within: 6_000,
      every: 100,
    });
    const [first, second] = scene.A.calls;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThan(2_900);
  });
}
