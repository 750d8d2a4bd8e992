import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { freePort } from "@switchyard/testkit";
import { build } from "rolldown";
import bundle from "../../../rolldown.config.ts";
import { startNatsServer } from "../../support/nats-server.ts";
import { type Child, startNode } from "../measure/children.ts";
import { pinProcess } from "../measure/cores.ts";
import { SECRETS, switchyardConfig } from "./switchyard-config.ts";
import type { StartVariant, Surroundings, Variant } from "./variant.ts";

const root = join(import.meta.dirname, "../../..");
const built = join(root, ".cache/bench/switchyard");
let building: Promise<unknown> | undefined;
const startTimeoutMs = 20_000;
const READY = /^ready .*/m;

/** What `pnpm build` makes, in a folder of the bench's own. */
function bundleTo(dir: string): Promise<unknown> {
  const output = Array.isArray(bundle.output) ? bundle.output[0] : bundle.output;
  return build({ ...bundle, cwd: root, output: { ...output, dir } });
}

async function launch(around: Surroundings, command: string, name: string, config: string): Promise<Child> {
  building ??= bundleTo(built);
  await building;
  const file = join(around.folder, `${name}.json`);
  writeFileSync(file, config);
  const child = startNode([join(built, "main.js"), command, "--config", file], {
    core: around.cores.variant,
    env: SECRETS,
  });
  try {
    await child.waitForOutput(READY, startTimeoutMs);
    return child;
  } catch (error) {
    await child.stop();
    throw error;
  }
}

function portOf(child: Child): number {
  const address = /\bhttp=(?:http:\/\/)?[^ ]*:(\d+)/.exec(READY.exec(child.output)?.[0] ?? "");
  if (address === null) throw new Error(`no http address in: ${child.output}`);
  return Number(address[1]);
}

const loopback = (port: number): string => `127.0.0.1:${port}`;

/** All four services in one process, with this many groups in the config. */
export function startOneProcess(groups: number): StartVariant {
  return async (around) => {
    const listen = { http: loopback(0), rpc: loopback(0), ops: loopback(0) };
    const config = switchyardConfig(around.upstreamPort, listen, groups);
    const child = await launch(around, "serve", `serve-${groups}`, config);
    return { port: portOf(child), headers: [], pids: [child.pid], stop: () => child.stop() };
  };
}

/** Router, forwarder, health and facade, each a process, and the nats-server between them. */
export const startFourProcesses: StartVariant = async (around): Promise<Variant> => {
  const nats = await startNatsServer();
  pinProcess(nats.pid, around.cores.variant);
  const children: Child[] = [];
  const stop = async (): Promise<void> => {
    for (const child of children.toReversed()) await child.stop();
    await nats.stop();
  };
  try {
    const [router, forwarder, health, facade] = [
      await freePort(),
      await freePort(),
      await freePort(),
      await freePort(),
    ];
    const apart = {
      natsUrl: nats.url,
      router: `http://${loopback(router)}`,
      forwarder: `http://${loopback(forwarder)}`,
      health: `http://${loopback(health)}`,
    };
    const services = { health, router, forwarder, facade };
    for (const [name, port] of Object.entries(services)) {
      const listen = { http: loopback(0), rpc: loopback(port), ops: loopback(0) };
      children.push(
        await launch(around, name, name, switchyardConfig(around.upstreamPort, listen, 1, apart)),
      );
    }
    const last = children.at(-1);
    if (last === undefined) throw new Error("no facade");
    const pids = [...children.map((child) => child.pid), nats.pid];
    return { port: portOf(last), headers: [], pids, stop };
  } catch (error) {
    await stop();
    throw error;
  }
};
