import type { Logger } from "@switchyard/telemetry";
import { EXIT } from "./exit.ts";

/** Beyond the drain, what is still open is cut and closing it may take this long, ms. */
const CLOSING_MS = 3_000;
const SIGNALS: readonly NodeJS.Signals[] = ["SIGTERM", "SIGINT"];

/**
 * From here on a signal drains and ends this process with 0; a second one ends it at once. Called before the process
 * says that it is ready. Returns the drain, for those who start it otherwise.
 */
export function drainOnSignal(options: {
  readonly logger: Logger;
  readonly drainMs: number;
  readonly drain: (graceMs: number) => Promise<void>;
  readonly signals?: readonly NodeJS.Signals[];
}): () => void {
  const { logger, drainMs } = options;
  let draining = false;
  const begin = (): void => {
    draining = true;
    logger.info("draining", { within_ms: drainMs });
    const late = setTimeout(() => leave(logger, "draining took too long", EXIT.ok), drainMs + CLOSING_MS);
    options.drain(drainMs).then(
      () => leave(logger, "drained", EXIT.ok),
      (error: unknown) => {
        clearTimeout(late);
        logger.error("draining failed", { error: error instanceof Error ? error.name : "unknown" });
        leave(logger, "ending", EXIT.failed);
      },
    );
  };
  for (const signal of options.signals ?? SIGNALS) {
    process.on(signal, () => {
      if (draining) leave(logger, `${signal} again: ending at once`, EXIT.failed);
      else begin();
    });
  }
  return () => {
    if (!draining) begin();
  };
}

/** What nobody caught is logged, without its text, which might hold anything; the process ends (invariant 9). */
export function endOnFaults(logger: Logger): void {
  process.on("uncaughtException", (error: unknown) => {
    const { name, stack } = error instanceof Error ? error : { name: typeof error, stack: undefined };
    const frames = stack?.split("\n").filter((line) => /^\s+at /u.test(line)) ?? [];
    logger.error("fault of the program", { error: name, stack: frames.map((line) => line.trim()) });
    process.exit(EXIT.software);
  });
  // Whoever reads stdout may go away; serving goes on.
  process.stdout.on("error", () => {});
}

// Sockets of the bus may linger, so the process does not wait for its event loop to run dry.
function leave(logger: Logger, message: string, status: number): void {
  logger.info(message);
  logger.flush();
  process.exit(status);
}
