import { create, equals } from "@bufbuild/protobuf";
import { FeedState } from "@switchyard/cluster";
import { formatFault, isUsable, watchConfigFile } from "@switchyard/config";
import type { ConfigChange, ConfigWatcher, LoadedFile } from "@switchyard/config";
import { ConfigSchema, RuntimeSchema } from "@switchyard/proto/config/v1/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { Logger } from "@switchyard/telemetry";

/** An edit takes effect after two looks at the file agree, and within a second also on a busy machine, ms. */
const LOOK_EVERY_MS = 150;

/** The file is the truth and is watched: contracts.md section 2. Counts its own changes from 1. */
export class FileFeed extends FeedState {
  readonly #watch: ConfigWatcher;
  readonly #first: Config;
  readonly #logger: Logger;
  #revision = 1;

  constructor(path: string, since: LoadedFile | undefined, first: Config, logger: Logger) {
    super();
    this.#first = first;
    this.#logger = logger;
    this.replace({ config: first, revision: this.#revision });
    const options = { everyMs: LOOK_EVERY_MS, ...(since === undefined ? {} : { since }) };
    this.#watch = watchConfigFile(path, (change) => this.#onChange(change), options);
  }

  override close(): void {
    this.#watch.close();
    super.close();
  }

  #onChange({ config, faults, warnings, cause }: ConfigChange): void {
    const logger = this.#logger;
    // An editor that empties a file before it fills it must not take every key away; a facade alone may name no groups.
    if (config === undefined || (isUsable(this.#first) && !isUsable(config))) {
      const lines = config === undefined ? faults.map(formatFault) : ["it names no groups"];
      logger.error("the edited config file is refused, the last good one stays", { faults: lines });
      return;
    }
    if (cause === "config") {
      this.#revision += 1;
      const revision = this.#revision;
      if (!sameRuntime(this.#first, config))
        logger.warn("the edited `runtime` takes effect at the next start");
      logger.info("the edited config file is in force", { revision, warnings: warnings.map(formatFault) });
    } else {
      logger.info("secret files changed and were read again");
    }
    this.replace({ config: withRuntimeOf(this.#first, config), revision: this.#revision });
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
