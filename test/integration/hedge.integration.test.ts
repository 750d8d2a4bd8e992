import { expect, it } from "vitest";
import { CH, DONE, eventually, OK, ROLE, sse, wait } from "@switchyard/testkit";
import type { Answer } from "@switchyard/testkit";
import type { Scene } from "../support/gateway-scene.ts";
import { forEachForm } from "../support/gateway-stage.ts";

type Policy = Readonly<Record<string, unknown>>;
const MESSAGES = [{ role: "user" as const, content: "hi" }];
const WARM = 24;
const SLOW = 24;
/** Before its first token, ms: quick enough to be a history, slow enough that nobody is hedged by chance. */
const USUAL_MS = 40;
const hedged = (share: number): Policy => ({ hedge: { enabled: true, share }, bench: { failures: 0 } });

function streamed(text: string, afterMs = 0): Answer {
  return sse([ROLE, wait(afterMs), CH({ content: text }), CH({}, "stop"), DONE]);
}

/** A history of quick answers of A, and routers that know it. */
async function warm(scene: Scene, stream: boolean): Promise<void> {
  scene.A.answer(stream ? streamed("a", USUAL_MS) : { ...OK("a"), delayMs: USUAL_MS });
  const asked = Array.from({ length: WARM }, async () => {
    const response = await scene.send({ model: scene.model, messages: MESSAGES, stream });
    expect(await response.text()).toContain('"a"');
  });
  await Promise.all(asked);
}

forEachForm("hedge", {}, (stage) => {
  it.concurrent.for([true, false])(
    "a second attempt serves where the first is slower than usual, and both are reported; streaming: %s",
    async (stream) => {
      await using scene = await stage.scene({ order: ["A", "B"], policy: hedged(1) });
      await warm(scene, stream);
      scene.B.answer(stream ? streamed("b") : OK("b"));
      scene.A.answer(stream ? streamed("late", 20_000) : { ...OK("late"), delayMs: 20_000 });
      await eventually(
        async () => {
          const response = await scene.send(
            { model: scene.model, messages: MESSAGES, stream },
            { signal: AbortSignal.timeout(2_000) },
          );
          const attempts: unknown = JSON.parse(response.headers.get("x-ants-attempts") ?? "[]");
          expect(await response.text()).toContain('"b"');
          expect(attempts).toMatchObject([
            { outcome: "failed", error: "cancelled" },
            { outcome: "ok", status: 200 },
          ]);
        },
        { within: 10_000, every: 100 },
      );
      await eventually(async () => expect(await scene.inFlight()).toBe(0), { within: 4_000 });
    },
  );

  it.concurrent("no more than its share of the requests, and none where it is off", async () => {
    const run = async (policy: Policy, share: number): Promise<number> => {
      await using scene = await stage.scene({ order: ["A", "B"], policy });
      await warm(scene, false);
      scene.A.answer({ ...OK("a"), delayMs: 1_000 });
      let asked = WARM;
      const askOne = async (): Promise<void> => {
        asked += 1;
        expect((await scene.ask()).status).toBe(200);
      };
      if (share > 0) {
        await eventually(
          async () => {
            await askOne();
            expect(scene.B.calls.length).toBeGreaterThan(0);
          },
          { within: 10_000 },
        );
      }
      await Promise.all(Array.from({ length: SLOW }, askOne));
      expect(scene.B.calls.length).toBeLessThanOrEqual(share * asked);
      return scene.B.calls.length;
    };
    expect(await Promise.all([run(hedged(0.125), 0.125), run({ bench: { failures: 0 } }, 0)])).toEqual([
      expect.any(Number),
      0,
    ]);
  });
});
