import { comesTrue } from "@switchyard/testkit";
import { describe, expect, it } from "vitest";
import { createMemoryBus } from "../src/index.ts";
import { describeBus } from "./contract.ts";

describeBus("memory", async (onListenerError) => createMemoryBus({ onListenerError }));

describe("memory bus", () => {
  it("delivers in the same turn, unless a listener caused it", async () => {
    const bus = createMemoryBus();
    const heard: string[] = [];
    bus.subscribe("a", () => {
      heard.push("a");
      bus.publish("b", new Uint8Array());
    });
    bus.subscribe("b", () => heard.push("b"));
    bus.publish("a", new Uint8Array());
    await Promise.resolve();
    expect(heard).toEqual(["a"]);
    await comesTrue(() => heard.length === 2);
  });

  it("does not let two listeners that answer each other starve timers", async () => {
    const bus = createMemoryBus();
    let pongs = 0;
    bus.subscribe("ping", () => bus.publish("pong", new Uint8Array()));
    bus.subscribe("pong", () => {
      pongs += 1;
      bus.publish("ping", new Uint8Array());
    });
    bus.publish("ping", new Uint8Array());
    await comesTrue(() => pongs > 10);
    await bus.close();
    expect(bus.counters().dropped).toBeLessThan(2);
  });

  it("drops and counts what one turn cannot hold", () => {
    const bus = createMemoryBus();
    bus.subscribe("a", () => {});
    for (let i = 0; i < 70_000; i += 1) bus.publish("a", new Uint8Array());
    expect(bus.counters().dropped).toBe(70_000 - 65_536);
  });
});
