import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { loadConfigFile } from "@switchyard/config";
import { startNode } from "@switchyard/standalone";
import type { NodeOptions, RunningNode } from "@switchyard/standalone";
import { lendEnvironment } from "./environment.ts";
import { applyConfig } from "./gateway-admin.ts";
import { readConfig, readyRevision, waitForRevision, withRuntime } from "./gateway-config.ts";
import type { Gateway, GatewayOptions, ServiceName } from "./gateway-form.ts";
import { startNatsServer } from "./nats-server.ts";

const LISTEN = { http: "127.0.0.1:0", rpc: "127.0.0.1:0", ops: "127.0.0.1:0" };
const ALL: ReadonlySet<ServiceName> = new Set(["router", "forwarder", "health", "facade"]);
/** For callers that keep a connection, as all here do, and ask nothing more. */
const STOP_GRACE_MS = 50;

/** All four services in the test's own process; several replicas, or a `natsUrl`, join them over NATS. */
export async function startInProcess(options: GatewayOptions): Promise<Gateway> {
  await using owner = new AsyncDisposableStack();
  const replicas = options.replicas ?? 1;
  owner.defer(lendEnvironment(options.env ?? {}));
  const natsUrl = options.natsUrl ?? (replicas > 1 ? await ownNats(owner) : undefined);
  const runtime = {
    ...options.runtime,
    listen: LISTEN,
    ...(natsUrl === undefined ? {} : { bus: { nats: { servers: [natsUrl] } } }),
  };
  const folder = mkdtempSync(join(tmpdir(), "switchyard-gateway-"));
  owner.defer(() => rmSync(folder, { recursive: true, force: true }));
  const path = join(folder, "config.yaml");
  const write = (config: string | object): string => {
    const text = withRuntime(config, runtime);
    writeFileSync(path, text);
    return text;
  };
  const config = readConfig(write(options.config));
  const file = await loadConfigFile(path);
  let logs = "";
  const nodes: RunningNode[] = [];
  for (let replica = 0; replica < replicas; replica += 1) {
    const logger = loggerTo((line) => void (logs += line));
    const node = await startNode({
      config,
      path,
      file,
      services: ALL,
      logger,
      listenHint: () => "",
      ops: true,
    });
    owner.defer(() => node.drain(STOP_GRACE_MS));
    nodes.push(node);
  }
  const facades = nodes.map((node) => node.addresses.http as string);
  const ops = nodes.map((node) => node.addresses.ops as string);
  await waitForRevision(ops, 1);
  const [rpc = ""] = nodes.map((node) => node.addresses.rpc as string);
  const kept = owner.move();
  const stop = (): Promise<void> => kept.disposeAsync();
  return {
    form: "one-process",
    http: facades[0] as string,
    facades,
    rpc: { router: rpc, forwarder: rpc, health: rpc },
    ops,
    logs: () => logs,
    forgetLogs: () => {
      logs = "";
    },
    apply: async (next) => {
      if (natsUrl === undefined) {
        const before = await readyRevision(ops[0] as string);
        readConfig(write(next));
        await waitForRevision(ops, before + 1);
        return;
      }
      await waitForRevision(ops, await applyConfig(rpc, readConfig(withRuntime(next, runtime))));
    },
    kill: () => Promise.reject(new Error("one process cannot lose a service")),
    restart: () => Promise.reject(new Error("one process cannot restart a service")),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

type Logger = NodeOptions["logger"];

/** One JSON line per call, as the program's own logger writes them. */
function loggerTo(write: (line: string) => void, bound: object = {}): Logger {
  const at =
    (level: string): Logger["info"] =>
    (message, fields) =>
      write(`${JSON.stringify({ level, ...bound, ...fields, message })}\n`);
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    child: (fields) => loggerTo(write, { ...bound, ...fields }),
    flush: () => undefined,
  };
}

/** A server that ends with the gateway. */
export async function ownNats(owner: AsyncDisposableStack): Promise<string> {
  const server = await startNatsServer();
  owner.defer(() => server.stop());
  return server.url;
}
