import cluster from "node:cluster";
import { createLogger } from "@switchyard/telemetry";
import type { ServeCommand } from "../args/command.ts";
import { CommandError, EXIT } from "../exit.ts";
import { drainOnSignal, endOnFaults } from "../lifecycle.ts";
import { drainMsOf, startNode } from "../node/start-node.ts";
import type { RunningNode } from "../node/start-node.ts";
import { readConfig } from "../commands/read-config.ts";
import { onPrimary, tellPrimary } from "./messages.ts";
import { relayBus } from "./relay-bus.ts";

/** How often the primary hears whether a worker is ready, ms. */
const READINESS_EVERY_MS = 250;

/** Serves as one of several processes on the same listeners; the primary speaks for all of them. */
export async function runWorker({ config: path, services }: ServeCommand, id: number): Promise<void> {
  // A primary that is gone can be told nothing.
  cluster.worker?.on("error", () => process.exit(EXIT.failed));
  // Ctrl+C reaches the whole process group: the primary hears it too, and says when to drain.
  process.on("SIGINT", () => {});
  const logger = createLogger().child({ worker: id });
  let node: RunningNode;
  let drainMs: number;
  try {
    const { config, file } = await readConfig(path);
    drainMs = drainMsOf(config.runtime);
    const shared = config.runtime?.bus?.nats === undefined ? { wrapBus: relayBus } : {};
    node = await startNode({
      config,
      path,
      file,
      services,
      logger,
      listenHint: (name) => `change runtime.listen.${name} in ${path}`,
      ops: false,
      ...shared,
    });
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    tellPrimary({ kind: "failed", message: error.message, lines: error.lines, status: error.status });
    // The channel must carry the reason before this process ends; the primary ends it if it does not.
    process.channel?.ref();
    process.exitCode = EXIT.failed;
    return;
  }
  endOnFaults(logger);
  const drain = drainOnSignal({ logger, drainMs, drain: (ms) => node.drain(ms), signals: ["SIGTERM"] });
  const tellReadiness = (): void => tellPrimary({ kind: "readiness", readiness: node.readiness() });
  setInterval(tellReadiness, READINESS_EVERY_MS).unref();
  onPrimary((message) => {
    if (message.kind === "drain") {
      drain();
      tellReadiness();
    } else if (message.kind === "metrics?") {
      node.refresh();
      void node.metrics
        .render()
        .then(({ body }) => tellPrimary({ kind: "metrics", id: message.id, text: body }));
    }
  });
  tellReadiness();
  tellPrimary({ kind: "ready", addresses: node.addresses });
}
