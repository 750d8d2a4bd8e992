import { comesTrue } from "@switchyard/testkit";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Bus, KeyValueListener } from "../src/index.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const text = (value: Uint8Array | undefined): string | undefined => value && new TextDecoder().decode(value);

/** A watcher that keeps what it was told. */
export function recorder(): KeyValueListener & {
  readonly told: string[];
  readonly state: Map<string, string>;
  readonly current: boolean[];
} {
  const told: string[] = [];
  const state = new Map<string, string>();
  const current: boolean[] = [];
  return {
    told,
    state,
    current,
    onEntry: (key, value) => {
      told.push(value ? `${key}=${text(value)}` : `${key} deleted`);
      if (value) state.set(key, text(value) ?? "");
      else state.delete(key);
    },
    onCurrent: ({ lost }) => {
      told.push("current");
      current.push(lost);
    },
  };
}

/** What every bus does, whatever carries it. `make` gives a connected bus. */
export function describeBus(
  name: string,
  make: (onListenerError: (error: unknown) => void) => Promise<Bus>,
): void {
  describe(`${name} bus`, () => {
    const errors: unknown[] = [];
    let bus: Bus;
    let serial = 0;
    const fresh = (): string => `contract_${process.pid}_${Date.now()}_${(serial += 1)}`;
    beforeAll(async () => {
      bus = await make((error) => errors.push(error));
    });
    afterAll(() => bus.close());

    describe("events", () => {
      it.each([
        ["a.b", ["a.b"]],
        ["a.*", ["a.b", "a.c"]],
        ["*.b", ["a.b"]],
        ["a.>", ["a.b", "a.c", "a.b.c"]],
        [">", ["a.b", "a.c", "a.b.c"]],
      ])("delivers to %s what falls under it", async (pattern, expected) => {
        const root = fresh();
        const heard: string[] = [];
        const done: string[] = [];
        bus.subscribe(pattern === ">" ? ">" : `${root}.${pattern}`, (_, subject) => {
          if (subject.startsWith(`${root}.`)) heard.push(subject.slice(root.length + 1));
        });
        bus.subscribe(`${root}_done`, () => done.push(""));
        for (const subject of ["a.b", "a.c", "a.b.c"]) bus.publish(`${root}.${subject}`, bytes(subject));
        bus.publish(`${root}_done`, bytes(""));
        await comesTrue(() => done.length === 1);
        expect(heard).toEqual(expected);
      });

      it("keeps a publisher's order and bytes, and never calls a listener on its stack", async () => {
        const subject = fresh();
        const heard: number[] = [];
        bus.subscribe(subject, (payload) => heard.push(new DataView(payload.slice().buffer).getUint32(0)));
        const payload = new Uint8Array(4);
        for (let i = 0; i < 2000; i += 1) {
          new DataView(payload.buffer).setUint32(0, i);
          bus.publish(subject, payload);
        }
        expect(heard).toEqual([]);
        await comesTrue(() => heard.length === 2000);
        expect(heard).toEqual(Array.from({ length: 2000 }, (_, i) => i));
      });

      it("lets no throwing listener harm another, and reports it", async () => {
        const subject = fresh();
        const heard: string[] = [];
        bus.subscribe(subject, () => {
          throw new Error(`thrown by ${subject}`);
        });
        bus.subscribe(subject, (payload) => heard.push(text(payload) ?? ""));
        bus.publish(subject, bytes("1"));
        bus.publish(subject, bytes("2"));
        await comesTrue(() => heard.length === 2);
        expect(errors.filter((error) => String(error).includes(subject))).toHaveLength(2);
      });

      it("stops after unsubscribe, and lets listeners publish", async () => {
        const subject = fresh();
        const heard: string[] = [];
        const first = bus.subscribe(subject, () => heard.push("first"));
        bus.subscribe(subject, () => bus.publish(`${subject}.answer`, bytes("")));
        bus.subscribe(`${subject}.answer`, () => heard.push("answer"));
        first.unsubscribe();
        first.unsubscribe();
        bus.publish(subject, bytes(""));
        await comesTrue(() => heard.includes("answer"));
        expect(heard).toEqual(["answer"]);
      });

      it("refuses malformed subjects: drops a publish, throws on a subscribe", () => {
        const before = bus.counters().dropped;
        for (const subject of ["", "a b", "a..b", ".a", "a.", "a.*", ">"]) bus.publish(subject, bytes(""));
        expect(bus.counters().dropped - before).toBe(7);
        for (const subject of ["", "a b", "a..b", ".a", "a.", ">.a"]) {
          expect(() => bus.subscribe(subject, () => {})).toThrow(TypeError);
        }
      });
    });

    describe("key-value", () => {
      it("refuses a malformed bucket name", () => {
        for (const bucket of ["", "a.b", "a b", "*"]) expect(() => bus.keyValue(bucket)).toThrow(TypeError);
      });

      it("puts, gets, lists and deletes", async () => {
        const store = bus.keyValue(fresh());
        expect(await store.get("a")).toBeUndefined();
        expect(await store.entries()).toEqual([]);
        const first = await store.put("a", bytes("1"));
        const second = await store.put("a", bytes("2"));
        expect(second).toBeGreaterThan(first);
        await store.put("b", bytes(""));
        const found = await store.get("a");
        expect([found?.key, text(found?.value), found?.revision]).toEqual(["a", "2", second]);
        expect((await store.entries()).map(({ key, value }) => `${key}=${text(value)}`).toSorted()).toEqual([
          "a=2",
          "b=",
        ]);
        await store.delete("a");
        await store.delete("never there");
        expect(await store.get("a")).toBeUndefined();
        expect((await store.entries()).map(({ key }) => key)).toEqual(["b"]);
      });

      it("lets one of many creators win, also after a delete", async () => {
        const store = bus.keyValue(fresh());
        for (let round = 0; round < 2; round += 1) {
          const revisions = await Promise.all(
            [1, 2, 3, 4, 5].map((n) => store.create("lease", bytes(`${n}`))),
          );
          expect(revisions.filter((revision) => revision !== undefined)).toHaveLength(1);
          await store.delete("lease");
        }
      });

      it("lets one of many updaters of a revision win", async () => {
        const store = bus.keyValue(fresh());
        const revision = await store.put("k", bytes("0"));
        const revisions = await Promise.all(
          [1, 2, 3, 4, 5].map((n) => store.update("k", bytes(`${n}`), revision)),
        );
        const won = revisions.filter((r) => r !== undefined);
        expect(won).toHaveLength(1);
        expect((await store.get("k"))?.revision).toBe(won[0]);
        expect(await store.update("missing", bytes(""), 12)).toBeUndefined();
        expect(await store.update("k", bytes(""), 0)).toBeUndefined();
      });

      it("takes any string for a key", async () => {
        const store = bus.keyValue(fresh());
        const keys = [
          "",
          " ",
          ".",
          "..",
          "a.b.",
          "*",
          ">",
          "=",
          "=41",
          "a/b c",
          "gpt-4.1:x",
          "日本",
          "\u{1F600}",
          "\ud800",
          "ä",
          "\n",
        ];
        for (const key of keys) await store.put(key, bytes(JSON.stringify(key)));
        const watcher = recorder();
        const watch = store.watch(watcher);
        await comesTrue(() => watcher.current.length === 1);
        watch.unsubscribe();
        expect([...watcher.state.keys()].toSorted()).toEqual(keys.toSorted());
        expect((await store.entries()).map(({ key }) => key).toSorted()).toEqual(keys.toSorted());
        for (const key of keys) expect(text((await store.get(key))?.value)).toBe(JSON.stringify(key));
        await expect(store.put("x".repeat(5000), bytes(""))).rejects.toThrow(RangeError);
      });

      it("watches: present entries, current once, then every change in order", async () => {
        const store = bus.keyValue(fresh());
        await store.put("a", bytes("1"));
        await store.put("b", bytes("1"));
        await store.delete("a");
        const watcher = recorder();
        const watch = store.watch(watcher);
        expect(watcher.told).toEqual([]);
        await comesTrue(() => watcher.current.length === 1);
        await store.put("c", bytes("1"));
        await store.put("b", bytes("2"));
        // A store keeps the last value of a key: one that nobody has read may be gone.
        await comesTrue(() => watcher.told.length === 4);
        await store.delete("c");
        await comesTrue(() => watcher.told.length === 5);
        expect(watcher.told).toEqual(["b=1", "current", "c=1", "b=2", "c deleted"]);
        expect(watcher.current).toEqual([false]);
        watch.unsubscribe();
        await store.put("d", bytes("1"));
        const later = recorder();
        store.watch(later);
        await comesTrue(() => later.state.has("d") && later.current.length === 1);
        expect(watcher.state.has("d")).toBe(false);
      });

      it("watches an empty bucket, and goes on when the listener throws", async () => {
        const store = bus.keyValue(fresh());
        const watcher = recorder();
        store.watch({
          ...watcher,
          onEntry: (key, value, revision) => {
            watcher.onEntry(key, value, revision);
            throw new Error("a watcher threw");
          },
        });
        await comesTrue(() => watcher.current.length === 1);
        await store.put("a", bytes("1"));
        await store.put("b", bytes("1"));
        await comesTrue(() => watcher.told.length === 3);
        expect(watcher.told).toEqual(["current", "a=1", "b=1"]);
      });

      it("holds many keys", async () => {
        const store = bus.keyValue(fresh());
        const names = Array.from({ length: 600 }, (_, i) => `key ${i}`);
        await Promise.all(names.map((key) => store.put(key, bytes(key))));
        const watcher = recorder();
        store.watch(watcher);
        await comesTrue(() => watcher.current.length === 1);
        expect(watcher.told.at(-1)).toBe("current");
        expect([...watcher.state.keys()].toSorted()).toEqual(names.toSorted());
        expect(await store.entries()).toHaveLength(600);
      });

      it("ends entries at the bucket's age, so that a lease can be taken again", async () => {
        const store = bus.keyValue(fresh(), { ttlMs: 250 });
        expect(await store.create("lease", bytes("1"))).toBeDefined();
        expect(await store.create("lease", bytes("2"))).toBeUndefined();
        await comesTrue(async () => (await store.get("lease")) === undefined);
        expect(await store.create("lease", bytes("3"))).toBeDefined();
      });
    });

    it("says closed once and then neither sends nor answers", async () => {
      const own = await make(() => {});
      const states: string[] = [];
      own.onState((state) => states.push(state));
      const store = own.keyValue(fresh());
      const heard: string[] = [];
      const subject = fresh();
      bus.subscribe(subject, () => heard.push(""));
      await store.put("a", bytes("1"));
      await own.close();
      await own.close();
      expect([own.state, states]).toEqual(["closed", ["closed"]]);
      own.publish(subject, bytes(""));
      expect(own.counters().dropped).toBe(1);
      await expect(store.get("a")).rejects.toThrow(expect.objectContaining({ name: "BusUnavailableError" }));
    });
  });
}
