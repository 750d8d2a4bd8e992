import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort, startNode } from "@switchyard/testkit";
import type { ManagedProcess } from "@switchyard/testkit";
import { readConfig, waitForRevision, withRuntime } from "./gateway-config.ts";
import type { Gateway, GatewayOptions, ServiceName } from "./gateway-form.ts";
import { ownNats } from "./gateway-one-process.ts";
import { applyConfig } from "./gateway-admin.ts";

const MAIN = join(import.meta.dirname, "../../services/standalone/src/main.ts");
const READY = /^ready /;
const ANY_PORT = "127.0.0.1:0";
const START_WITHIN_MS = 30_000;

interface Member {
  readonly service: ServiceName;
  readonly http: string;
  readonly rpc: string;
  readonly ops: string;
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
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  // Whoever leaves without stop() must not leave it behind.
  process.once("exit", remove);
  owner.defer(() => {
    process.off("exit", remove);
    remove();
  });
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
    rpcAt = ANY_PORT,
    peers: object = {},
  ): Promise<Member> => {
    const file = join(folder, `${service}-${replica}.yaml`);
    const write = (listen: object): void => {
      const runtime = { ...options.runtime, ...peers, listen, bus: { nats: { servers: [natsUrl] } } };
      const text = withRuntime(options.config, runtime);
      readConfig(text);
      writeFileSync(file, text);
    };
    write({ http: ANY_PORT, rpc: rpcAt, ops: ANY_PORT });
    const process = await start(service, file);
    const address = (name: string): string => new RegExp(` ${name}=(\\S+)`).exec(process.stdout)?.[1] ?? "";
    const member: Member = {
      service,
      http: address("http"),
      rpc: address("rpc"),
      ops: address("ops"),
      file,
      process,
    };
    owner.defer(async () => void (await member.process.stop(2_000)));
    // A restart serves at the same addresses.
    const again = (url: string): string => (url === "" ? ANY_PORT : new URL(url).host);
    write({ http: again(member.http), rpc: again(member.rpc), ops: again(member.ops) });
    return member;
  };
  const gateway = async (replica: number): Promise<Member[]> => {
    const [router, forwarder] = [await freeAddress(), await freeAddress()];
    return await Promise.all([
      launch("router", replica, router),
      launch("forwarder", replica, forwarder, { router: { urls: [`http://${router}`] } }),
      launch("facade", replica, ANY_PORT, { forwarder: { urls: [`http://${forwarder}`] } }),
    ]);
  };
  const groups = await Promise.all([
    launch("health", 0).then((member) => [member]),
    ...Array.from({ length: replicas }, (_, replica) => gateway(replica)),
  ]);
  const members = groups.flat();
  const of = (service: ServiceName, replica: number): Member => {
    const member = members.filter((each) => each.service === service)[replica];
    if (member === undefined) throw new Error(`there is no ${service} ${replica}`);
    return member;
  };
  const facades = members.filter(({ service }) => service === "facade").map(({ http }) => http);
  const ops = members.map((member) => member.ops);
  await waitForRevision(ops, 1);
  const kill = async (service: ServiceName, replica = 0): Promise<void> => {
    const { process } = of(service, replica);
    process.kill("SIGKILL");
    await process.exited;
    ended.push(process.output);
  };
  const kept = owner.move();
  const stop = (): Promise<void> => kept.disposeAsync();
  const rpc = (service: ServiceName): string => of(service, 0).rpc;
  return {
    form: "four-processes",
    http: facades[0] as string,
    facades,
    rpc: { router: rpc("router"), forwarder: rpc("forwarder"), health: rpc("health") },
    ops,
    logs: () => [...ended, ...members.map(({ process }) => process.output)].join("\n"),
    forgetLogs: () => {
      ended.length = 0;
      for (const { process } of members) process.stdout = process.stderr = "";
    },
    apply: async (next) => {
      await waitForRevision(ops, await applyConfig(rpc("router"), readConfig(withRuntime(next, {}))));
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

async function freeAddress(): Promise<string> {
  return `127.0.0.1:${await freePort()}`;
}
