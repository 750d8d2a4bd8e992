import { createMemoryBus } from "@switchyard/bus";
import type { Bus } from "@switchyard/bus";
import { deploymentScope } from "@switchyard/core";
import { readFailure } from "@switchyard/rpc";
import { eventually, fakeClock } from "@switchyard/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { failed, publish, scopeOf, startHealth, WatchSink } from "./stage.ts";
import type { Stage } from "./stage.ts";

const KEY = deploymentScope("default/g", "a/m");
const START = 1_700_000_000_000;

const open: Stage[] = [];
afterEach(() => {
  for (const { health } of open.splice(0)) health.close();
});

function start(bus: Bus = createMemoryBus(), clock = fakeClock(START), name = "h1") {
  const stage = startHealth(bus, clock, name);
  open.push(stage);
  return { bus, clock, ...stage };
}

async function statusOf(call: () => unknown): Promise<number> {
  try {
    await call();
    return 200;
  } catch (error) {
    return readFailure(error).status;
  }
}

describe("HealthStateService", () => {
  it("B1: lists what outcomes from the bus have benched, and counts it", async () => {
    const { bus, clock, list, metrics } = start();
    expect(await list()).toEqual([]);
    publish(bus, failed("d1", clock.now()));
    await eventually(async () => expect(await list()).toEqual([KEY]));
    expect((await metrics.render()).body).toContain('switchyard_benches{scope="deployment"} 1');
    clock.advance(5_000);
    expect(await list()).toEqual([]);
  });

  it("a payload that is none harms nobody", async () => {
    const { bus, clock, list } = start();
    bus.publish("switchyard.v1.outcome.x", new Uint8Array([0xff, 0xff]));
    bus.publish("switchyard.v1.bench.x", new Uint8Array([0xff, 0xff]));
    publish(bus, failed("d1", clock.now()));
    await eventually(async () => expect(await list()).toEqual([KEY]));
  });

  it("B5: a person with an admin's key benches and ends benches; nobody else does", async () => {
    const { list, bench, unbench } = start();
    for (const [key, status] of [
      ["", 401],
      ["nobody", 401],
      ["ck", 403],
      ["pb", 403],
    ] as const) {
      expect(await statusOf(() => bench(key))).toBe(status);
      expect(await statusOf(() => unbench(key))).toBe(status);
    }
    expect(await list()).toEqual([]);
    await bench("boss");
    expect(await list()).toEqual([KEY]);
    expect(await unbench("boss")).toBe(true);
    expect(await list()).toEqual([]);
    expect(await unbench("boss")).toBe(false);
  });

  it("B5: a bench by hand may end sooner than the one it replaces", async () => {
    const { clock, list, bench } = start();
    await bench("boss", 600);
    clock.advance(1);
    await bench("boss", 10);
    clock.advance(10_000);
    expect(await list()).toEqual([]);
  });

  it("counts reported outcomes of groups that the key may call, and no others", async () => {
    const { clock, list, report } = start();
    const at = clock.now();
    expect(await statusOf(() => report("nobody", failed("d0", at)))).toBe(401);
    const foreign = { group: "default/other" };
    const elsewhere = { group: "else/g" };
    expect(await report("ck", failed("d1", at, foreign), failed("d2", at, elsewhere))).toBe(0);
    expect(await list()).toEqual([]);
    expect(await report("ck", failed("d3", at), failed("d4", at, foreign))).toBe(1);
    expect(await list()).toEqual([KEY]);
  });

  it("an outcome from the future benches from now, not from then", async () => {
    const { clock, list, report } = start();
    await report("ck", failed("d1", clock.now() + 86_400_000));
    clock.advance(5_000);
    expect(await list()).toEqual([]);
  });
});

describe("WatchBenches", () => {
  it("sends the state first, then each change", async () => {
    const { bench, unbench, watch } = start();
    await bench("boss");
    const sink = new WatchSink();
    watch(sink);
    expect(sink.told).toEqual([`state ${KEY}`]);
    await unbench("boss");
    await bench("boss");
    expect(sink.told.slice(1)).toEqual([`change -${KEY}`, `change +${KEY}`]);
  });

  it("tells a slow watcher the state again instead of every change", async () => {
    const { bench, unbench, watch } = start();
    const sink = new WatchSink();
    sink.full = true;
    watch(sink);
    await bench("boss");
    await unbench("boss");
    await bench("boss");
    expect(sink.told).toEqual(["state "]);
    sink.drain();
    expect(sink.told).toEqual(["state ", `state ${KEY}`]);
    await unbench("boss");
    expect(sink.told.at(-1)).toBe(`change -${KEY}`);
  });

  it("forgets a watcher that left, and ends the others when it closes", async () => {
    const { health, bench, watch, callOf } = start();
    const left = new WatchSink();
    watch(left).cancel();
    const gone = callOf("ck");
    gone.cancel();
    const late = new WatchSink();
    watch(late, gone);
    const stays = new WatchSink();
    watch(stays);
    await bench("boss");
    expect(left.told).toHaveLength(1);
    expect(late.told.length).toBeLessThanOrEqual(1);
    health.close();
    expect([left.ended, stays.ended]).toEqual([0, 1]);
  });

  it("refuses more watchers than it can serve", () => {
    const { watch } = start();
    for (let count = 0; count < 1_024; count += 1) watch(new WatchSink());
    const sink = new WatchSink();
    watch(sink);
    expect(readFailure(sink.failed).status).toBe(503);
  });
});

describe("several health services", () => {
  it("B5: one that starts again has what stood, by policy and by hand", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(START);
    const first = start(bus, clock);
    await first.bench("boss");
    publish(bus, failed("d1", clock.now(), { deployment: "a/n" }));
    await eventually(async () => expect(await first.list()).toHaveLength(2));
    const keys = (await first.list()).toSorted();
    await eventually(async () => expect(await bus.keyValue("switchyard_health").entries()).toHaveLength(2));
    first.health.close();
    const second = start(bus, clock, "h2");
    await eventually(async () => expect((await second.list()).toSorted()).toEqual(keys));
    for (const stage of [first, second]) {
      expect((await stage.makers()).toSorted()).toEqual(["boss", "default/g"]);
    }
  });

  it("B5: what a person ended stays ended after a restart", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(START);
    const first = start(bus, clock);
    publish(bus, failed("d1", clock.now()));
    await eventually(async () => expect(await first.list()).toEqual([KEY]));
    clock.advance(10);
    await first.unbench("boss");
    first.health.close();
    const second = start(bus, clock, "h2");
    // Something later in the same store has arrived, so what came before would have as well.
    await second.bench("boss", 60, scopeOf("a/n"));
    await eventually(async () => expect(await second.list()).toEqual([deploymentScope("default/g", "a/n")]));
  });

  it("B1, B6: two agree, whoever hears of it first", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(START);
    const one = start(bus, clock);
    const two = start(bus, clock, "h2");
    await one.bench("boss");
    await eventually(async () => expect(await two.list()).toEqual([KEY]));
    clock.advance(10);
    await two.unbench("boss");
    await eventually(async () => expect(await one.list()).toEqual([]));
    publish(bus, failed("d1", clock.now()));
    await eventually(async () => {
      expect(await one.list()).toEqual([KEY]);
      expect(await two.list()).toEqual([KEY]);
    });
    clock.advance(10);
    await one.report("ck", failed("d2", clock.now(), { deployment: "a/n" }));
    await eventually(async () =>
      expect((await two.list()).toSorted()).toEqual((await one.list()).toSorted()),
    );
    expect(await two.list()).toHaveLength(2);
  });
});
