import { create, equals } from "@bufbuild/protobuf";
import { FeedState } from "@switchyard/cluster";
import { formatFault, watchConfigFile } from "@switchyard/config";
import { ConfigSchema, RuntimeSchema } from "@switchyard/proto/config/v1/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { Logger } from "@switchyard/telemetry";

/** The file is the truth and is watched: contracts.md section 2. Counts its own changes from 1. */
export class FileFeed extends FeedState {
  readonly #watch: { close(): void };

  constructor(path: string, first: Config, logger: Logger) {
    super();
    let revision = 1;
    this.replace({ config: first, revision });
    this.#watch = watchConfigFile(path, ({ config, faults, warnings, cause }) => {
      if (config === undefined) {
        logger.error("the edited config file is refused, the last good one stays", {
          faults: faults.map(formatFault),
        });
        return;
      }
      if (cause === "config") {
        revision += 1;
        if (!sameRuntime(first, config)) logger.warn("the edited `runtime` takes effect at the next start");
        logger.info("the edited config file is in force", { revision, warnings: warnings.map(formatFault) });
      } else {
        logger.info("secret files changed and were read again", { revision });
      }
      this.replace({ config: withRuntimeOf(first, config), revision });
    });
  }

  override close(): void {
    this.#watch.close();
    super.close();
  }
}

function sameRuntime({ runtime: a }: Config, { runtime: b }: Config): boolean {
  return equals(RuntimeSchema, a ?? create(RuntimeSchema), b ?? create(RuntimeSchema));
}

/** What the process listens on was checked with the runtime that it started with, so that one stays. */
function withRuntimeOf({ runtime }: Config, config: Config): Config {
  const { runtime: _edited, ...rest } = config;
  return create(ConfigSchema, runtime === undefined ? rest : { ...rest, runtime });
}
