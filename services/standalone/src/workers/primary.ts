import { createLogger, Metrics, startOpsServer } from "@switchyard/telemetry";
import type { OpsServer } from "@switchyard/telemetry";
import type { ServeCommand } from "../args/command.ts";
import { readConfig } from "../commands/read-config.ts";
import { drainOnSignal, endOnFaults } from "../lifecycle.ts";
import { addressOf, listenFailure } from "../node/addresses.ts";
import { drainMsOf } from "../node/start-node.ts";
import { readyLine } from "../ready-line.ts";
import { Crew } from "./crew.ts";
import { mergeMetrics } from "./merge-metrics.ts";

/** Workers get this much longer than the drain before they are killed, ms. */
const WORKERS_CLOSE_MS = 1_500;

/** Starts the workers, speaks for them on the ops port, and relays the embedded bus between them. */
export async function runPrimary({ config: path, services, workers }: ServeCommand): Promise<void> {
  const { config, warnings } = await readConfig(path);
  const logger = createLogger();
  for (const warning of warnings) logger.warn(warning);
  const address = addressOf(config.runtime, "ops");
  const crew = new Crew(workers, logger);
  let ops: OpsServer;
  try {
    ops = await startOpsServer({
      ...address,
      metrics: new CrewMetrics(crew),
      readiness: () => crew.readiness(),
    });
  } catch (error) {
    throw listenFailure("ops", address, `change runtime.listen.ops in ${path}`, error);
  }
  const addresses = await crew.start();
  endOnFaults(logger);
  drainOnSignal({
    logger,
    drainMs: drainMsOf(config.runtime),
    drain: async (graceMs) => {
      await crew.drain(graceMs + WORKERS_CLOSE_MS);
      await ops.close();
    },
  });
  process.stdout.write(`${readyLine({ ...addresses, ops: `http://${ops.address}` }, services)}\n`);
}

/** What all workers count, as one. */
class CrewMetrics extends Metrics {
  readonly #crew: Crew;

  constructor(crew: Crew) {
    super();
    this.#crew = crew;
  }

  override async render(): Promise<{ contentType: string; body: string }> {
    const { contentType } = await super.render();
    return { contentType, body: mergeMetrics(await this.#crew.metrics()) };
  }
}
