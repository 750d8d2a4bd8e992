import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startNode } from "@switchyard/testkit";
import type { ManagedProcess } from "@switchyard/testkit";
import { readConfig, waitForRevision, withRuntime } from "./gateway-config.ts";
import type { Gateway, GatewayOptions, ServiceName } from "./gateway-form.ts";
import { ownNats } from "./gateway-one-process.ts";
import { openStoreWriter } from "./gateway-store.ts";

const MAIN = join(import.meta.dirname, "../../services/standalone/src/main.ts");
const READY = /^ready /;
const START_WITHIN_MS = 30_000;

interface Member {
  readonly service: ServiceName;
  readonly http: number;
  readonly rpc: number;
  readonly ops: number;
  readonly file: string;
  process: ManagedProcess;
}

/**
 * Every service a process of its own, on a real NATS. With several replicas each facade calls its own forwarder and
 * router, so that two gateways share nothing but the bus; there is one health service.
 */
export async function startProcesses(options: GatewayOptions): Promise<Gateway> {
  await using owner = new AsyncDisposableStack();
  const natsUrl = options.natsUrl ?? (await ownNats(owner));
  const folder = mkdtempSync(join(tmpdir(), "switchyard-gateway-"));
  owner.defer(() => rmSync(folder, { recursive: true, force: true }));
  const replicas = options.replicas ?? 1;
  const ended: string[] = [];
  const start = (service: ServiceName, file: string): Promise<ManagedProcess> =>
    startNode([MAIN, service, "--config", file], {
      env: { ...options.env },
      ready: READY,
      withinMs: START_WITHIN_MS,
    });
  const launch = async (
    service: ServiceName,
    replica: number,
    rpc: number,
    peers: object,
  ): Promise<Member> => {
    const [http, ops] = [await freePort(), await freePort()];
    const at = (port: number): string => `127.0.0.1:${port}`;
    const runtime = {
      ...options.runtime,
      ...peers,
      listen: { http: at(http), rpc: at(rpc), ops: at(ops) },
      bus: { nats: { servers: [natsUrl] } },
    };
    const text = withRuntime(options.config, runtime);
    readConfig(text);
    const file = join(folder, `${service}-${replica}.yaml`);
    writeFileSync(file, text);
    const member: Member = { service, http, rpc, ops, file, process: await start(service, file) };
    owner.defer(async () => void (await member.process.stop(2_000)));
    return member;
  };
  const url = (port: number): string => `http://127.0.0.1:${port}`;
  const gateway = async (replica: number): Promise<Member[]> => {
    const [router, forwarder, facade] = [await freePort(), await freePort(), await freePort()];
    return Promise.all([
      launch("router", replica, router, {}),
      launch("forwarder", replica, forwarder, { router: { urls: [url(router)] } }),
      launch("facade", replica, facade, { forwarder: { urls: [url(forwarder)] } }),
    ]);
  };
  const groups = await Promise.all([
    freePort().then(async (rpc) => [await launch("health", 0, rpc, {})]),
    ...Array.from({ length: replicas }, (_, replica) => gateway(replica)),
  ]);
  const members = groups.flat();
  const of = (service: ServiceName, replica: number): Member => {
    const member = members.filter((each) => each.service === service)[replica];
    if (member === undefined) throw new Error(`there is no ${service} ${replica}`);
    return member;
  };
  const facades = members.filter(({ service }) => service === "facade").map(({ http }) => url(http));
  const ops = members.map((member) => url(member.ops));
  // A facade works by no config.
  const configured = members.filter(({ service }) => service !== "facade").map((member) => url(member.ops));
  await waitForRevision(configured, 1);
  const kill = async (service: ServiceName, replica = 0): Promise<void> => {
    const { process } = of(service, replica);
    process.kill("SIGKILL");
    await process.exited;
    ended.push(process.output);
  };
  const kept = owner.move();
  const stop = (): Promise<void> => kept.disposeAsync();
  const rpc = (service: ServiceName): string => url(of(service, 0).rpc);
  return {
    form: "four-processes",
    http: facades[0] as string,
    facades,
    rpc: { router: rpc("router"), forwarder: rpc("forwarder"), health: rpc("health") },
    ops,
    logs: () => [...ended, ...members.map(({ process }) => process.output)].join("\n"),
    apply: async (next) => {
      const writer = await openStoreWriter(natsUrl);
      try {
        await waitForRevision(configured, await writer.apply(withRuntime(next, {})));
      } finally {
        await writer.close();
      }
    },
    kill,
    restart: async (service, replica = 0) => {
      const member = of(service, replica);
      if (member.process.exit === undefined) await kill(service, replica);
      member.process = await start(service, member.file);
    },
    stop,
    [Symbol.asyncDispose]: stop,
  };
}
