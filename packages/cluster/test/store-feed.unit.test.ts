import { createMemoryBus, type KeyValue } from "@switchyard/bus";
import { eventually } from "@switchyard/testkit";
import { afterEach, describe, expect, it } from "vitest";
import { BUCKETS, ConfigConflictError, createStoreFeed, type WritableConfigFeed } from "../src/index.ts";
import { configOf, TWO } from "./config.ts";

const open: WritableConfigFeed[] = [];
afterEach(() => {
  for (const one of open.splice(0)) one.close();
});

function feed(
  store: KeyValue,
  seed: string | undefined,
  writes = true,
  faults: string[] = [],
): WritableConfigFeed {
  const made = createStoreFeed({
    store,
    seed: seed === undefined ? undefined : configOf(seed),
    now: () => 1_700_000_000_000,
    report: () => {},
    faultsOf: () => faults,
    writes,
  });
  open.push(made);
  return made;
}

const THREE = TWO.replace("weight: 1 }", "weight: 3 }");

describe("createStoreFeed", () => {
  it("seeds an empty store from the file, and others read it there", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const router = feed(store, TWO);
    expect((await router.ready(3_000))?.revision).toBe(1);
    const health = feed(store, undefined, false);
    expect((await health.ready(3_000))?.config.groups[0]?.name).toBe("g");
  });

  it("takes the stored config for the truth, not the file", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    await feed(store, TWO).ready(3_000);
    const other = feed(store, THREE);
    expect((await other.ready(3_000))?.config.groups[0]?.deployments[1]?.weight).toBe(1);
  });

  it("K5: tells every replica of a change, in order of revisions", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const writer = feed(store, TWO);
    await writer.ready(3_000);
    const reader = feed(store, undefined, false);
    await reader.ready(3_000);
    const seen: number[] = [];
    reader.subscribe(({ revision }) => seen.push(revision));
    await writer.apply(configOf(THREE), "boss", undefined);
    await writer.apply(configOf(TWO), "boss", 2);
    await eventually(() => expect(seen).toEqual([1, 2, 3]));
  });

  it("refuses a change that goes by another revision, and the loser of a race", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const writer = feed(store, TWO);
    await writer.ready(3_000);
    await expect(writer.apply(configOf(THREE), "boss", 7)).rejects.toBeInstanceOf(ConfigConflictError);
    const races = [
      writer.apply(configOf(THREE), "x", undefined),
      writer.apply(configOf(THREE), "y", undefined),
    ];
    const results = await Promise.allSettled(races);
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  });

  it("a router puts its own revision back into a store that lost it; a file comes last", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const router = feed(store, TWO);
    await router.ready(3_000);
    await router.apply(configOf(THREE), "boss", undefined);
    const emptied = createMemoryBus().keyValue(BUCKETS.config);
    // The same router meets an empty store: its watch says so as it does after a loss.
    const listeners: Parameters<KeyValue["watch"]>[0][] = [];
    const lossy: KeyValue = {
      ...methodsOf(emptied),
      watch: (one) => (listeners.push(one), emptied.watch(one)),
    };
    const held = feed(lossy, TWO);
    await held.ready(3_000);
    await held.apply(configOf(THREE), "boss", undefined);
    await emptied.delete("current");
    await eventually(async () => expect(await emptied.get("current")).toBeUndefined());
    for (const one of listeners) one.onCurrent({ lost: true });
    await eventually(async () => expect(await emptied.get("current")).toBeDefined());
    const late = feed(emptied, TWO);
    const applied = await late.ready(3_000);
    expect(applied?.revision).toBe(2);
    expect(applied?.config.groups[0]?.deployments[1]?.weight).toBe(3);
  });

  it("the highest revision wins over a file that seeded an emptied store first", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const router = feed(store, TWO);
    await router.ready(3_000);
    await router.apply(configOf(THREE), "boss", undefined);
    const seeded = createMemoryBus().keyValue(BUCKETS.config);
    await feed(seeded, TWO).ready(3_000);
    const older = (await seeded.get("current"))?.value;
    // What the store lost comes back as the seed of a router that was quicker.
    if (older !== undefined) await store.put("current", older);
    const late = feed(store, undefined, false);
    await eventually(() => expect(late.current()?.revision).toBe(2));
    expect(router.current()?.config.groups[0]?.deployments[1]?.weight).toBe(3);
  });

  it("refuses a stored config with faults and keeps the last good one (invariant 10)", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const faults: string[] = [];
    const writer = feed(store, TWO);
    await writer.ready(3_000);
    const reader = feed(store, undefined, false, faults);
    await reader.ready(3_000);
    faults.push("groups[0]: wrong");
    await writer.apply(configOf(THREE), "boss", undefined);
    await eventually(async () => expect((await store.get("current"))?.revision).toBe(2));
    expect(reader.current()?.revision).toBe(1);
  });

  it.each([
    [
      "refused",
      async (store: KeyValue) => {
        const other = feed(store, undefined);
        await other.ready(3_000);
        await other.apply(configOf(THREE), "boss", undefined);
      },
    ],
    ["unreadable", async (store: KeyValue) => await store.put("current", Uint8Array.of(1, 2, 3))],
  ])("a change replaces what stands in the store and is %s", async (_, spoil) => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const faults: string[] = [];
    const router = feed(store, TWO, true, faults);
    await router.ready(3_000);
    expect(router.refusesStored).toBe(false);
    faults.push("groups[0]: wrong");
    await spoil(store);
    await eventually(() => expect(router.refusesStored).toBe(true));
    expect(router.current()?.revision).toBe(1);
    faults.pop();
    const applied = await router.apply(configOf(TWO), "boss", 1);
    expect(applied.revision).toBeGreaterThan(1);
    expect(router.refusesStored).toBe(false);
    const late = feed(store, undefined, false);
    expect((await late.ready(3_000))?.revision).toBe(applied.revision);
  });

  it("a router that met only a refused config serves its file, and a change replaces it", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    await store.put("current", Uint8Array.of(1, 2, 3));
    const router = feed(store, TWO);
    expect((await router.ready(3_000))?.revision).toBe(0);
    expect((await router.apply(configOf(THREE), "boss", undefined)).revision).toBe(1);
  });

  it("checks a config once: neither what it wrote itself comes to be checked, nor what is told again", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const listeners: Parameters<KeyValue["watch"]>[0][] = [];
    const watched: KeyValue = {
      ...methodsOf(store),
      watch: (one) => (listeners.push(one), store.watch(one)),
    };
    const checked: number[] = [];
    const counting = (writes: boolean, at: number): WritableConfigFeed => {
      const made = createStoreFeed({
        store: watched,
        seed: writes ? configOf(TWO) : undefined,
        now: () => 1_700_000_000_000,
        report: () => {},
        faultsOf: () => {
          checked.push(at);
          return [];
        },
        writes,
      });
      open.push(made);
      return made;
    };
    const router = counting(true, 1);
    await router.ready(3_000);
    const health = counting(false, 2);
    await health.ready(3_000);
    await router.apply(configOf(THREE), "boss", undefined);
    await eventually(() => expect(health.current()?.revision).toBe(2));
    const entry = await store.get("current");
    for (const one of listeners) if (entry !== undefined) one.onEntry("current", entry.value, entry.revision);
    expect(checked).toEqual([2, 2]);
    expect([router.current()?.revision, health.current()?.revision]).toEqual([2, 2]);
  });

  it("keeps what belongs to a process out of the store", async () => {
    const store = createMemoryBus().keyValue(BUCKETS.config);
    const writer = feed(store, `runtime: { drain: 1s }\n${TWO}`);
    expect((await writer.ready(3_000))?.config.runtime).toBeUndefined();
  });
});

function methodsOf(store: KeyValue): Omit<KeyValue, "watch"> {
  return {
    get: (key) => store.get(key),
    entries: () => store.entries(),
    put: (key, value) => store.put(key, value),
    create: (key, value) => store.create(key, value),
    update: (key, value, revision) => store.update(key, value, revision),
    delete: (key) => store.delete(key),
  };
}
