import { afterEach, describe, expect, it } from "vitest";
import { Metrics, startOpsServer } from "../src/index.ts";
import type { OpsServer, Readiness } from "../src/index.ts";

let server: OpsServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(
  readiness: () => Readiness,
  refresh?: () => void,
  metrics = new Metrics(),
): Promise<string> {
  const more = refresh === undefined ? {} : { refresh };
  server = await startOpsServer({ host: "127.0.0.1", port: 0, metrics, readiness, ...more });
  return `http://${server.address}`;
}

const READY: Readiness = { ready: true, detail: { bus: "connected", revision: 4 } };

describe("ops port", () => {
  it("/healthz is alive whatever else is", async () => {
    const url = await start(() => ({ ready: false, detail: {} }));
    const reply = await fetch(`${url}/healthz?verbose=1`);
    expect(reply.status).toBe(200);
    expect(await reply.json()).toEqual({ status: "alive" });
  });

  it("/readyz tells whether it serves, and the bus's state", async () => {
    let told = READY;
    const url = await start(() => told);
    const ready = await fetch(`${url}/readyz`);
    expect(ready.status).toBe(200);
    expect(ready.headers.get("cache-control")).toBe("no-store");
    expect(await ready.json()).toEqual({ status: "ready", bus: "connected", revision: 4 });
    told = { ready: false, detail: { bus: "reconnecting", draining: true } };
    const draining = await fetch(`${url}/readyz`);
    expect(draining.status).toBe(503);
    expect(await draining.json()).toEqual({ status: "not ready", bus: "reconnecting", draining: true });
  });

  it("/metrics is Prometheus's format, with gauges brought up to date first", async () => {
    const metrics = new Metrics();
    const url = await start(
      () => READY,
      () => metrics.busConnected.set(1),
      metrics,
    );
    const reply = await fetch(`${url}/metrics`);
    expect(reply.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
    expect(await reply.text()).toContain("\nswitchyard_bus_connected 1\n");
  });

  it("/metrics that can't be rendered is a 500, and the port goes on", async () => {
    class Broken extends Metrics {
      override render(): Promise<never> {
        return Promise.reject(new Error("broken"));
      }
    }
    const url = await start(() => READY, undefined, new Broken());
    expect((await fetch(`${url}/metrics`)).status).toBe(500);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
  });

  it("serves nothing else", async () => {
    const url = await start(() => READY);
    expect((await fetch(`${url}/`)).status).toBe(404);
    const posted = await fetch(`${url}/metrics`, { method: "POST" });
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
    expect((await fetch(`${url}/readyz`, { method: "HEAD" })).status).toBe(200);
  });

  it("names an address that is taken", async () => {
    const url = await start(() => READY);
    const { port } = new URL(url);
    const taken = startOpsServer({
      host: "127.0.0.1",
      port: Number(port),
      metrics: new Metrics(),
      readiness: () => READY,
    });
    await expect(taken).rejects.toThrow(`ops address 127.0.0.1:${port} is already in use`);
  });
});
