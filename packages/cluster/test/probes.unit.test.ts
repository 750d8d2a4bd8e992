import { createMemoryBus, type Bus } from "@switchyard/bus";
import {
  deploymentScope,
  type BenchEntry,
  type Clock,
  type LoadReport,
  type Outcome,
  probeClaims,
} from "@switchyard/core";
import { eventually, fakeClock } from "@switchyard/testkit";
import { afterEach, describe, expect, it, vi } from "vitest";
import {
  announceRouter,
  entryFromWire,
  entryToWire,
  HealthReplica,
  loadReportFromWire,
  loadReportToWire,
  RouterBoard,
} from "../src/index.ts";
import { snapshotOf, TWO } from "./config.ts";

const SCOPE = deploymentScope("default/g", "a/m");
const PROBING = TWO.replace("cooloff: 5s", "cooloff: 60s, probe_share: 0.1, ramp: [5, 50]");
const open: { close(): unknown }[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
  vi.useRealTimers();
});

function kept<T extends { close(): unknown }>(one: T): T {
  open.push(one);
  return one;
}

function failed(at: number): Outcome {
  const how = {
    error: "server_error",
    status: 500,
    retryAfterMs: undefined,
    probe: false,
    ownKey: false,
  } as const;
  return { decision: "d1", group: "default/g", deployment: "a/m", decidedAt: at - 10, at, ...how };
}

function keeper(bus: Bus, clock: Clock, routers: readonly string[], text = PROBING): HealthReplica {
  const now = (): number => clock.now();
  const made = kept(
    new HealthReplica({
      bus,
      name: "h1",
      role: "keeps",
      now,
      routers: { names: routers, claims: new Map() },
    }),
  );
  made.useConfig(snapshotOf(text));
  return made;
}

describe("probes and ramps", () => {
  it("B4: a new bench names the router that may probe, and every router hears it", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const router = kept(new HealthReplica({ bus, name: "r1", role: "follows", now: () => clock.now() }));
    keeper(bus, clock, ["r1", "r2"]).observe([failed(clock.now())]);
    await eventually(() => {
      const entry = router.snapshot.benches.get(SCOPE);
      expect(entry?.policy).toMatchObject({ rampSteps: 2 });
      expect(["r1", "r2"]).toContain(entry?.probe?.router);
    });
  });

  it("B4: where nobody probes, or no router is known, nobody is named", () => {
    const clock = fakeClock(1_000_000);
    for (const [routers, text] of [[["r1"], TWO] as const, [[], PROBING] as const]) {
      const health = keeper(createMemoryBus(), clock, routers, text);
      health.observe([failed(clock.now())]);
      expect(health.snapshot.benches.get(SCOPE)?.policy).toBeDefined();
      expect(health.snapshot.benches.get(SCOPE)?.probe).toBeUndefined();
    }
  });

  it("B4: a router that is heard of later is named within a second", () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const clock = fakeClock(1_000_000);
    const routers: string[] = [];
    const health = keeper(createMemoryBus(), clock, routers);
    health.observe([failed(clock.now())]);
    routers.push("r1");
    clock.advance(1_000);
    vi.advanceTimersByTime(1_000);
    expect(health.snapshot.benches.get(SCOPE)?.probe).toEqual({ router: "r1", until: 1_011_000 });
  });

  it("B4: where the router that was named has no traffic, another that has is named in bounded time", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const now = (): number => clock.now();
    const board = kept(new RouterBoard(bus, now));
    const health = kept(new HealthReplica({ bus, name: "h1", role: "keeps", now, routers: board }));
    const config = snapshotOf(PROBING);
    health.useConfig(config);
    // Whoever is named first is the one without traffic.
    let named: string | undefined;
    const replicas = ["r1", "r2"].map((name) => {
      const replica = kept(new HealthReplica({ bus, name, role: "follows", now }));
      const groups = (): string[] => (name === named ? [] : ["default/g"]);
      const leave = announceRouter(bus, name, () =>
        probeClaims(replica.snapshot, config, groups(), [], name, clock.now()),
      );
      open.push({ close: leave });
      return { name, replica };
    });
    await eventually(() => expect(board.names).toHaveLength(2));
    health.observe([failed(clock.now())]);
    named = health.snapshot.benches.get(SCOPE)?.probe?.router;
    expect(["r1", "r2"]).toContain(named);
    for (let second = 0; second < 15; second += 1) {
      clock.advance(1_000);
      vi.advanceTimersByTime(1_000);
      // What was said goes round before the next second.
      await new Promise((done) => setImmediate(done));
    }
    for (const { replica } of replicas) {
      const lease = replica.snapshot.benches.get(SCOPE)?.probe;
      expect(lease?.router).toBe(named === "r1" ? "r2" : "r1");
      expect(lease?.until).toBeGreaterThan(clock.now());
    }
    expect(board.probers).toEqual(new Map([[SCOPE, 1]]));
  });

  it("travel with their times, moved to the reader's clock", () => {
    const entry: BenchEntry = {
      policy: {
        key: SCOPE,
        scope: "deployment",
        until: 9_000,
        since: 4_000,
        reason: "failures",
        group: "default/g",
        rampSteps: 3,
      },
      manual: undefined,
      policyClearedAt: 0,
      manualClearedAt: 0,
      probe: { router: "r1", until: 8_000 },
      ramp: { from: 5_000, since: 3_000, steps: 3, group: "default/g" },
    };
    expect(entryFromWire(entryToWire(SCOPE, entry, 5_000), 0)).toEqual(entry);
    expect(entryFromWire(entryToWire(SCOPE, entry, 5_000), 100)).toMatchObject({
      policy: { until: 9_100, rampSteps: 3 },
      probe: { until: 8_100 },
      ramp: { from: 5_100, since: 3_100 },
    });
  });
});

describe("RouterBoard", () => {
  it("knows the routers that are there, and forgets who leaves or falls silent", async () => {
    const bus = createMemoryBus();
    const clock = fakeClock(1_000_000);
    const board = kept(new RouterBoard(bus, () => clock.now()));
    const leave = announceRouter(bus, "r1");
    await eventually(() => expect(board.names).toEqual(["r1"]));
    const leaveToo = announceRouter(bus, "r2");
    await eventually(() => expect([...board.names].toSorted()).toEqual(["r1", "r2"]));
    leave();
    await eventually(() => expect(board.names).toEqual(["r2"]));
    leaveToo();
    const silent = announceRouter(createMemoryBus(), "elsewhere");
    await eventually(() => expect(board.names).toEqual([]));
    silent();
  });
});

it("load reports travel whole", () => {
  const report: LoadReport = {
    reporter: "f1",
    sequence: 7,
    deployments: [
      {
        load: "m:a/m",
        inFlight: 2,
        minute: 28_333_333,
        requests: 9,
        tokens: 1_234,
        measured: 3,
        firstTokenMs: 12.5,
        streamedTokens: 40,
        streamedMs: 800,
      },
    ],
  };
  expect(loadReportFromWire(loadReportToWire(report))).toEqual(report);
});
