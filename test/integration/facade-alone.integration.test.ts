import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfigFile } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import { startNode } from "@switchyard/standalone";
import { SILENT } from "@switchyard/telemetry";
import { eventually, freePort } from "@switchyard/testkit";
import { expect, it } from "vitest";
import { readConfig, readyRevision } from "../support/gateway-config.ts";
import { startGateway } from "../support/gateway.ts";
import { startNatsServer } from "../support/nats-server.ts";

const LISTEN = { http: "127.0.0.1:0", ops: "127.0.0.1:0" };

const native = (path: string): object => ({
  native_endpoints: [{ path, provider_families: ["openai_compatible"] }],
});

const configOf = (path: string): object => ({
  providers: [
    {
      name: "p",
      family: "openai_compatible",
      base_url: "http://127.0.0.1:1",
      credential: { none: true },
    },
  ],
  groups: [{ name: "g", deployments: [{ provider: "p", model: "m" }] }],
  ...native(path),
});

it("B6, K5: a facade alone serves the paths of its file while NATS is away, and those of the store from then on", async () => {
  await using owner = new AsyncDisposableStack();
  const port = await freePort();
  const runtime = {
    listen: LISTEN,
    bus: { nats: { servers: [`nats://127.0.0.1:${port}`] } },
    forwarder: { urls: ["http://127.0.0.1:1"] },
  };
  const facade = await startNode({
    config: readConfig(JSON.stringify({ runtime, ...native("/v1/own") })),
    path: undefined,
    services: new Set(["facade"] as const),
    logger: SILENT,
    listenHint: () => "",
    ops: true,
  });
  owner.defer(() => facade.drain(0));
  // Nobody is behind it: a path that it knows is unavailable, another is not there.
  const isServed = async (path: string): Promise<boolean> => {
    const { status } = await fetch(`${facade.addresses.http}${path}`, { method: "POST", body: "{}" });
    expect([404, 503]).toContain(status);
    return status === 503;
  };
  expect(await readyRevision(facade.addresses.ops as string)).toBe(0);
  expect([await isServed("/v1/own"), await isServed("/v1/stored")]).toEqual([true, false]);

  const nats = await startNatsServer({ port });
  owner.defer(() => nats.stop());
  const form = "one-process";
  const gateway = await startGateway({ form, config: configOf("/v1/stored"), natsUrl: nats.url });
  owner.use(gateway);
  await eventually(async () => expect(await isServed("/v1/stored")).toBe(true), { within: 20_000 });
  expect(await isServed("/v1/own")).toBe(false);
  await gateway.apply(configOf("/v1/later"));
  await eventually(async () => expect(await isServed("/v1/later")).toBe(true));
  await nats.kill();
  expect([await isServed("/v1/later"), await isServed("/v1/own")]).toEqual([true, false]);
});

it("a facade alone without NATS follows its file, and tells which state of it is in force", async () => {
  await using owner = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "facade-"));
  owner.defer(() => rm(directory, { recursive: true }));
  const path = join(directory, "facade.json");
  const write = async (served: string): Promise<Config> => {
    const text = JSON.stringify({
      runtime: { listen: LISTEN, forwarder: { urls: ["http://127.0.0.1:1"] } },
      ...native(served),
    });
    await writeFile(path, text);
    return readConfig(text);
  };
  const facade = await startNode({
    config: await write("/v1/first"),
    path,
    file: await loadConfigFile(path),
    services: new Set(["facade"] as const),
    logger: SILENT,
    listenHint: () => "",
    ops: true,
  });
  owner.defer(() => facade.drain(0));
  const statusOf = async (served: string): Promise<number> =>
    (await fetch(`${facade.addresses.http}${served}`, { method: "POST", body: "{}" })).status;
  const revision = (): Promise<number> => readyRevision(facade.addresses.ops as string);
  expect([await statusOf("/v1/first"), await revision()]).toEqual([503, 1]);
  await write("/v1/second");
  await eventually(async () => expect(await revision()).toBe(2), { within: 20_000 });
  expect([await statusOf("/v1/second"), await statusOf("/v1/first")]).toEqual([503, 404]);
});
