import cluster from "node:cluster";
import type { Command } from "./args/command.ts";
import { parseCommand } from "./args/parse-args.ts";
import { apply } from "./commands/apply.ts";
import { explain } from "./commands/explain.ts";
import { quickstart } from "./commands/quickstart.ts";
import { replay } from "./commands/replay.ts";
import { serve } from "./commands/serve.ts";
import { validate } from "./commands/validate.ts";
import { CommandError, EXIT } from "./exit.ts";
import { runPrimary } from "./workers/primary.ts";
import { runWorker } from "./workers/worker.ts";
import { VERSION } from "./version.ts";

/** Runs the `switchyard` command; ends the process unless it serves. */
export async function run(argv: readonly string[]): Promise<void> {
  try {
    const status = await execute(parseCommand(argv));
    if (status !== undefined) process.exit(status);
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const text = [`switchyard: ${error.message}`, ...error.lines].join("\n");
    process.stderr.write(`${text}\n`);
    process.exit(error.status);
  }
}

/** The exit status, or undefined when this process serves from now on. */
async function execute(command: Command): Promise<number | undefined> {
  switch (command.name) {
    case "help":
      process.stdout.write(command.text);
      return EXIT.ok;
    case "version":
      process.stdout.write(`${VERSION}\n`);
      return EXIT.ok;
    case "validate":
      return validate(command.file);
    case "apply":
      return apply(command);
    case "explain":
      return explain(command);
    case "replay":
      return replay(command);
    case "quickstart":
      await quickstart(command);
      return undefined;
    case "serve":
      if (cluster.worker !== undefined) await runWorker(command, cluster.worker.id);
      else if (command.workers > 1) await runPrimary(command);
      else await serve(command);
      return undefined;
  }
}
