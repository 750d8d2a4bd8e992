import type { Config } from "@switchyard/proto/config/v1/config";
import type { Logger } from "@switchyard/telemetry";
import { createLogger } from "@switchyard/telemetry";
import type { ServeCommand, ServiceName } from "../args/command.ts";
import { drainOnSignal, endOnFaults } from "../lifecycle.ts";
import type { ListenerName } from "../node/addresses.ts";
import { drainMsOf, startNode } from "../node/start-node.ts";
import { readyLine } from "../ready-line.ts";
import { readConfig } from "./read-config.ts";

/** Serves until a signal comes. */
export async function serve({ config: path, services }: ServeCommand): Promise<void> {
  const { config, file, warnings } = await readConfig(path);
  const logger = createLogger();
  for (const warning of warnings) logger.warn(warning);
  warnWhenAlone(config, services, logger);
  const listenHint = (name: ListenerName): string => `change runtime.listen.${name} in ${path}`;
  const node = await startNode({ config, path, file, services, logger, listenHint, ops: true });
  endOnFaults(logger);
  drainOnSignal({ logger, drainMs: drainMsOf(config.runtime), drain: (ms) => node.drain(ms) });
  process.stdout.write(`${readyLine(node.addresses, services)}\n`);
}

/** Services of one cluster hear of each other over NATS; on the embedded bus each process hears only itself. */
function warnWhenAlone(config: Config, services: ReadonlySet<ServiceName>, logger: Logger): void {
  if (config.runtime?.bus?.nats !== undefined) return;
  const missing = (["router", "forwarder", "health"] as const).filter((name) => !services.has(name));
  if (missing.length === 0 || (services.size === 1 && services.has("facade"))) return;
  logger.warn("the embedded bus reaches this process only: name runtime.bus.nats to share benches", {
    not_here: missing,
  });
}
