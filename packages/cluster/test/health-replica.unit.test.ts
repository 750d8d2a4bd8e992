import { create, toBinary } from "@bufbuild/protobuf";
import { type Bus, createMemoryBus } from "@switchyard/bus";
import { activeBenches, deploymentScope, type Clock, type Outcome } from "@switchyard/core";
import { BenchEventSchema } from "@switchyard/proto/events/v1/events";
import { eventually, fakeClock } from "@switchyard/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { HealthReplica } from "../src/index.ts";
import { snapshotOf, TWO } from "./config.ts";

const SCOPE = deploymentScope("default/g", "a/m");
const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

function replica(bus: Bus, name: string, role: "keeps" | "follows", clock: Clock): HealthReplica {
  const made = new HealthReplica({ bus, name, role, now: () => clock.now() });
  made.useConfig(snapshotOf(TWO));
  open.push(made);
  return made;
}

function failed(decision: string, at: number, over: Partial<Outcome> = {}): Outcome {
  return {
    decision,
    group: "default/g",
    deployment: "a/m",
    error: "server_error",
    status: 500,
    retryAfterMs: undefined,
    decidedAt: at - 10,
    at,
    probe: false,
    ownKey: false,
    ...over,
  };
}

function until(one: HealthReplica, now: number): number | undefined {
  return activeBenches(one.snapshot, now).find((bench) => bench.key === SCOPE)?.until;
}

describe("HealthReplica", () => {
  it("B1: what one replica benches, every other skips", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const keeper = replica(bus, "h1", "keeps", clock);
    const router = replica(bus, "r1", "follows", clock);
    keeper.observe([failed("d1", clock.now())]);
    await eventually(() => expect(until(router, clock.now())).toBe(clock.now() + 5_000));
  });

  it("B5: a replica that starts later has the benches that stand", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const keeper = replica(bus, "h1", "keeps", clock);
    keeper.observe([failed("d1", clock.now())]);
    await eventually(async () => expect(await bus.keyValue("switchyard_health").get(SCOPE)).toBeDefined());
    keeper.close();
    const late = replica(bus, "r2", "follows", clock);
    await eventually(() => expect(until(late, clock.now())).toBe(clock.now() + 5_000));
  });

  it("B6: a follower goes by its own observations, and tells nobody while the store is there", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const alone = replica(bus, "r1", "follows", clock);
    const other = replica(bus, "r2", "follows", clock);
    const told = (): number => activeBenches(other.snapshot, clock.now()).length;
    const tell = (model: string): void =>
      alone.bench({
        key: `m:b/${model}`,
        scope: "model",
        until: clock.now() + 9_000,
        since: clock.now(),
        reason: "retry_after",
        group: "default/g",
      });
    tell("m1");
    await eventually(() => expect(told()).toBe(1));
    alone.observe([failed("d1", clock.now())]);
    expect(until(alone, clock.now())).toBe(clock.now() + 5_000);
    // Something later on the same bus has arrived, so what came before would have as well.
    tell("m2");
    await eventually(() => expect(told()).toBe(2));
    expect(until(other, clock.now())).toBeUndefined();
  });

  it("B6: what any replica found out before the store was there is kept and shared once it is", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const other = replica(bus, "r2", "follows", clock);
    const alone = replica(bus, "r1", "follows", clock);
    // Before its first turn nothing of the store has come.
    alone.observe([failed("d1", clock.now())]);
    await eventually(() => expect(until(other, clock.now())).toBe(clock.now() + 5_000));
    expect(await bus.keyValue("switchyard_health").get(SCOPE)).toBeDefined();
  });

  it("E2: a bench that a router made is told to all and kept", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    replica(bus, "h1", "keeps", clock);
    const router = replica(bus, "r1", "follows", clock);
    router.bench({
      key: SCOPE,
      scope: "deployment",
      until: clock.now() + 9_000,
      since: clock.now(),
      reason: "retry_after",
      group: "default/g",
    });
    await eventually(async () => expect(await bus.keyValue("switchyard_health").get(SCOPE)).toBeDefined());
    const late = replica(bus, "r2", "follows", clock);
    await eventually(() => expect(until(late, clock.now())).toBe(clock.now() + 9_000));
  });

  it("B5: a person ends a bench everywhere, and a late outcome does not bring it back", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const keeper = replica(bus, "h1", "keeps", clock);
    const router = replica(bus, "r1", "follows", clock);
    keeper.observe([failed("d1", clock.now())]);
    await eventually(() => expect(until(router, clock.now())).toBeDefined());
    clock.advance(100);
    expect(keeper.unbench(SCOPE)).toBe(true);
    await eventually(() => expect(until(router, clock.now())).toBeUndefined());
    router.observe([failed("d0", clock.now() - 50)]);
    expect(until(router, clock.now())).toBeUndefined();
  });

  it("takes times from a clock that is an hour ahead as its own", async () => {
    const bus = createMemoryBus();
    const here = fakeClock(1_000_000);
    const there = fakeClock(1_000_000 + 3_600_000);
    const keeper = replica(bus, "h1", "keeps", there);
    const router = replica(bus, "r1", "follows", here);
    keeper.observe([failed("d1", there.now())]);
    await eventually(() => expect(until(router, here.now())).toBe(here.now() + 5_000));
  });

  it("B6: takes no time from others that could not be logged or told again", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const ended: unknown[] = [];
    const keeper = new HealthReplica({
      bus,
      name: "h1",
      role: "keeps",
      now: () => clock.now(),
      onTransitions: (transitions) =>
        ended.push(...transitions.map(({ bench }) => new Date(bench.until).toISOString())),
    });
    open.push(keeper);
    const most = 9_223_372_036_854_775_807n;
    const event = (key: string, seconds: bigint, sent?: bigint): Uint8Array =>
      toBinary(
        BenchEventSchema,
        create(BenchEventSchema, {
          source: "elsewhere",
          ...(sent === undefined ? {} : { sentAt: { seconds: sent } }),
          scopes: [{ key, policy: { key, until: { seconds }, since: { seconds: 1n } } }],
        }),
      );
    const store = bus.keyValue("switchyard_health");
    bus.publish("switchyard.v1.bench.x", event("late", most));
    bus.publish("switchyard.v1.bench.x", event("early", -most));
    bus.publish("switchyard.v1.bench.x", event("sent late", most, most));
    bus.publish("switchyard.v1.bench.x", event("sent early", -most, -most));
    await eventually(async () => expect(await store.get("late")).toBeDefined());
    await eventually(() => expect(ended).toContain("1970-01-01T00:00:00.000Z"));
    const late = activeBenches(keeper.snapshot, clock.now()).find(({ key }) => key === "late");
    expect(new Date(late?.until ?? 0).toISOString()).toBe("9999-12-31T23:59:59.000Z");
  });
});
