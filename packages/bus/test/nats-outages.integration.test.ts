import { comesTrue, eventually, freePort } from "@switchyard/testkit";
import { afterEach, describe, expect, inject, it } from "vitest";
import {
  type NatsServer,
  type NatsServerOptions,
  startNatsServer,
} from "../../../test/support/nats-server.ts";
import { type Bus, connectNatsBus, type NatsOptions } from "../src/index.ts";
import { recorder } from "./contract.ts";
import { startBlackHoleProxy } from "./support/black-hole-proxy.ts";

const one = Uint8Array.of(1);
const unavailable = expect.objectContaining({ name: "BusUnavailableError" });

describe("NATS bus in outages", () => {
  const owned: (() => Promise<void>)[] = [];
  afterEach(async () => {
    for (const release of owned.splice(0).toReversed()) await release();
  });

  async function server(options: NatsServerOptions = {}): Promise<NatsServer> {
    const started = await startNatsServer(options);
    owned.push(() => started.stop());
    return started;
  }

  function bus(url: string, options: Partial<NatsOptions> = {}): Bus & { readonly lines: string[] } {
    const lines: string[] = [];
    const made = connectNatsBus({ servers: [url], log: (_, line) => lines.push(line), ...options });
    owned.push(() => made.close());
    return Object.assign(made, { lines });
  }

  const up = (which: Bus, ms?: number): Promise<number> => comesTrue(() => which.state === "connected", ms);
  const down = (which: Bus, ms?: number): Promise<number> => comesTrue(() => which.state !== "connected", ms);

  /** Puts a value into a store that has just come up: a server takes connections before its storage answers. */
  const putFirst = (which: Bus, bucket: string, key: string): Promise<unknown> =>
    eventually(() => which.keyValue(bucket).put(key, one));

  /** Resolves when an event published by `from` reaches `to`. */
  async function eventArrives(from: Bus, to: Bus, subject: string): Promise<void> {
    let heard = 0;
    const subscription = to.subscribe(subject, () => {
      heard += 1;
    });
    await comesTrue(() => {
      from.publish(subject, one);
      return heard > 0;
    });
    subscription.unsubscribe();
  }

  async function connections(monitorPort: number): Promise<number> {
    const answer = await fetch(`http://127.0.0.1:${monitorPort}/connz`);
    return ((await answer.json()) as { num_connections: number }).num_connections;
  }

  it("B6: starts without a server, drops and refuses in bounded time, and connects when one comes", async () => {
    const port = await freePort();
    const away = bus(`nats://127.0.0.1:${port}`, { kvTimeoutMs: 300 });
    const watcher = recorder();
    const heard: string[] = [];
    away.keyValue("early").watch(watcher);
    away.subscribe("early.*", (_, subject) => heard.push(subject));
    away.publish("early.a", one);
    const start = performance.now();
    await expect(away.keyValue("early").put("a", one)).rejects.toThrow(unavailable);
    expect(performance.now() - start).toBeLessThan(2000);
    expect([away.state, away.counters()]).toEqual([
      "reconnecting",
      { dropped: 1, published: 0, reconnects: 0 },
    ]);
    await comesTrue(() => away.lines.some((line) => line.includes("no server answers")));
    await server({ port });
    await up(away);
    await putFirst(away, "early", "a");
    await comesTrue(() => watcher.state.has("a"));
    away.publish("early.b", one);
    await comesTrue(() => heard.length === 1);
    expect(away.lines).toHaveLength(2);
  });

  it("BH-45: goes on after a restart with the same storage", async () => {
    const nats = await server();
    const [first, second] = [bus(nats.url), bus(nats.url)];
    await Promise.all([up(first), up(second)]);
    const watcher = recorder();
    const heard: string[] = [];
    second.subscribe("again.>", (_, subject) => heard.push(subject));
    second.keyValue("kept").watch(watcher);
    await putFirst(first, "kept", "a");
    await comesTrue(() => watcher.state.has("a"));
    await nats.kill();
    await Promise.all([down(first), down(second)]);
    for (let i = 0; i < 100; i += 1) first.publish("again.lost", one);
    expect(first.counters().dropped).toBe(100);
    await nats.restart();
    await Promise.all([up(first), up(second)]);
    await putFirst(first, "kept", "b");
    await comesTrue(() => watcher.state.has("b") && watcher.current.length > 1);
    expect(watcher.told.filter((line) => line.includes("deleted"))).toEqual([]);
    expect(watcher.current.every((lost) => !lost)).toBe(true);
    first.publish("again.b", one);
    await comesTrue(() => heard.length > 0);
    expect(heard).toEqual(["again.b"]);
    expect(first.counters().reconnects).toBe(1);
  });

  it("BH-45: finds storage emptied, tells what vanished, and keeps one connection per process", async () => {
    const monitor = await freePort();
    const config = `http: 127.0.0.1:${monitor}`;
    const nats = await server({ config });
    const [first, second] = [bus(nats.url), bus(nats.url)];
    await Promise.all([up(first), up(second)]);
    const watcher = recorder();
    second.keyValue("emptied").watch(watcher);
    await putFirst(first, "emptied", "a");
    await first.keyValue("emptied").put("b", one);
    await comesTrue(() => watcher.state.size === 2);
    await nats.stop();
    await down(second);
    await server({ port: nats.port, config });
    await Promise.all([up(first), up(second)]);
    await comesTrue(() => watcher.current.at(-1) === true);
    expect(watcher.state.size).toBe(0);
    await putFirst(first, "emptied", "c");
    await comesTrue(() => watcher.state.has("c"), 2000);
    await eventArrives(first, second, "emptied.one");
    await eventArrives(second, first, "emptied.two");
    expect(await connections(monitor)).toBe(2);
  });

  it("BH-44: notices a server that went silent, stays bounded, and comes back", async () => {
    const monitor = await freePort();
    const nats = await server({ config: `http: 127.0.0.1:${monitor}` });
    const proxy = await startBlackHoleProxy(nats.port);
    owned.push(() => proxy.close());
    const [direct, proxied] = [bus(nats.url), bus(`nats://127.0.0.1:${proxy.port}`, { kvTimeoutMs: 500 })];
    await Promise.all([up(direct), up(proxied)]);
    const watcher = recorder();
    proxied.keyValue("silent").watch(watcher);
    await comesTrue(() => watcher.current.length === 1);
    proxy.swallow(true);
    const start = performance.now();
    await expect(proxied.keyValue("silent").get("a")).rejects.toThrow(unavailable);
    expect(performance.now() - start).toBeLessThan(2000);
    const kilobytes = new Uint8Array(64 * 1024);
    for (let i = 0; i < 500; i += 1) proxied.publish("silent.load", kilobytes);
    expect(proxied.counters().dropped).toBeGreaterThan(300);
    await down(proxied);
    expect(performance.now() - start).toBeLessThan(10_000);
    await expect(proxied.keyValue("silent").get("a")).rejects.toThrow(unavailable);
    await putFirst(direct, "silent", "a");
    proxy.swallow(false);
    await up(proxied);
    await comesTrue(() => watcher.state.has("a"));
    await eventArrives(direct, proxied, "silent.back");
    await comesTrue(async () => (await connections(monitor)) === 2);
    expect(proxied.lines.length).toBeLessThan(10);
  });

  it("BH-45: survives refused credentials, at the start and after a restart", async () => {
    const secret = (password: string): string => `authorization { user: bus, password: "${password}" }`;
    const nats = await server({ config: secret("other") });
    const refused = bus(nats.url, { auth: { user: "bus", password: "right" } });
    const watcher = recorder();
    refused.keyValue("guarded").watch(watcher);
    await comesTrue(() => refused.lines.some((line) => line.includes("credentials")));
    await nats.restart({ config: secret("right") });
    await up(refused);
    await nats.restart({ config: secret("other") });
    await comesTrue(() => refused.lines.some((line) => line.includes("refuses")));
    await nats.restart({ config: secret("right") });
    await up(refused);
    await putFirst(refused, "guarded", "a");
    await comesTrue(() => watcher.state.has("a"));
    expect(refused.lines.filter((line) => line.includes("right") || line.includes("other"))).toEqual([]);
    expect(refused.lines.length).toBeLessThan(10);
  });

  it("serves events where the account has no JetStream, and says so once", async () => {
    const nats = await server({ config: "accounts { A { users: [{ user: a, password: b }] } }" });
    const plain = bus(nats.url.replace("//", "//a:b@"), { kvTimeoutMs: 500 });
    await up(plain);
    for (let i = 0; i < 3; i += 1) {
      await expect(plain.keyValue("none").put("a", one)).rejects.toThrow(unavailable);
    }
    await eventArrives(plain, plain, "plain.one");
    expect(plain.state).toBe("connected");
    expect(plain.lines.filter((line) => line.includes("no JetStream"))).toHaveLength(1);
  });

  it("drops and counts a payload larger than the server takes", async () => {
    const small = bus(inject("natsUrl"));
    await up(small);
    small.publish("large", new Uint8Array(2 * 1024 * 1024));
    expect(small.counters()).toEqual({ dropped: 1, published: 0, reconnects: 0 });
  });

  it("finds a bucket again that somebody deleted under a live connection", async () => {
    const nats = await server();
    const [first, second] = [bus(nats.url), bus(nats.url)];
    await Promise.all([up(first), up(second)]);
    const watcher = recorder();
    second.keyValue("deleted").watch(watcher);
    await putFirst(first, "deleted", "a");
    await comesTrue(() => watcher.state.has("a"));
    await requestOnce(first, "$JS.API.STREAM.DELETE.KV_deleted");
    await comesTrue(() => watcher.current.at(-1) === true);
    expect(watcher.state.size).toBe(0);
    await first.keyValue("deleted").put("b", one);
    await comesTrue(() => watcher.state.has("b"));
  });

  async function requestOnce(on: Bus, subject: string): Promise<void> {
    on.publish(subject, new Uint8Array());
    await comesTrue(async () => {
      const written = await on
        .keyValue("deleted")
        .get("a")
        .catch(() => undefined);
      return written === undefined;
    });
  }
});

describe("NATS options", () => {
  it.each<[string, NatsOptions]>([
    ["no servers", { servers: [] }],
    ["another protocol", { servers: ["http://127.0.0.1"] }],
    ["a malformed seed", { servers: ["nats://127.0.0.1:1"], auth: { nkey: "not-a-seed" } }],
    ["malformed creds", { servers: ["nats://127.0.0.1:1"], auth: { creds: "not-a-file" } }],
  ])("refuses %s at once, without telling the value", (_, options) => {
    expect(() => connectNatsBus(options)).toThrow(TypeError);
    expect(() => connectNatsBus(options)).not.toThrow("not-a");
  });
});
