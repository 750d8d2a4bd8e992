import type { Bus } from "@switchyard/bus";
import { BUCKETS, createStoreFeed, FeedState } from "@switchyard/cluster";
import type { ConfigFeed, WritableConfigFeed } from "@switchyard/cluster";
import { formatFault, isUsable, validateConfig } from "@switchyard/config";
import type { LoadedFile } from "@switchyard/config";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { Logger } from "@switchyard/telemetry";
import type { ServiceName } from "../args/command.ts";
import { CommandError } from "../exit.ts";
import { FacadeFeed } from "./facade-feed.ts";
import { FileFeed } from "./file-feed.ts";
import { ownRuntimeFeed } from "./own-runtime-feed.ts";

/** A process that has no config of its own waits this long for the store's, ms. */
const STORE_WITHIN_MS = 10_000;

export interface OpenFeedOptions {
  readonly config: Config;
  /** Path of the file that the config was read from; undefined when it came from none. */
  readonly path: string | undefined;
  /** That file as it was read, so that no edit since then is missed. */
  readonly file?: LoadedFile;
  readonly bus: Bus;
  readonly logger: Logger;
  readonly services: ReadonlySet<ServiceName>;
}

export interface OpenFeed {
  readonly feed: ConfigFeed;
  /** Where the config can be replaced through the admin API. */
  readonly writable: WritableConfigFeed | undefined;
}

/** Where the config comes from: the store on NATS, else the file. Resolves once there is one, or throws one clear line. */
export async function openFeed(options: OpenFeedOptions): Promise<OpenFeed> {
  const { config, path, bus, logger, services } = options;
  const origin = path ?? "the config";
  // A facade alone knows nothing of groups: its file need not name any.
  const isFacade = services.size === 1 && services.has("facade");
  const writes = services.has("router");
  if (config.runtime?.bus?.nats === undefined) {
    if (!isFacade && !isUsable(config)) throw new CommandError(`no usable config: ${origin} names no groups`);
    return {
      feed: path === undefined ? fixedFeed(config) : new FileFeed(path, options.file, config, logger),
      writable: undefined,
    };
  }
  const stored = createStoreFeed({
    store: bus.keyValue(BUCKETS.config),
    seed: isUsable(config) ? config : undefined,
    now: Date.now,
    report: (level, message) => logger[level](message),
    faultsOf: (candidate) => validateConfig(candidate).faults.map(formatFault),
    // Only routers put a lost config back, and seed an empty store.
    writes,
  });
  if (isFacade) return { feed: new FacadeFeed(stored, config), writable: undefined };
  if ((await stored.ready(STORE_WITHIN_MS)) === undefined) {
    stored.close();
    const wait = `${STORE_WITHIN_MS / 1000} s`;
    throw new CommandError(
      `no usable config: the store on NATS gave none within ${wait}, and ${origin} names no groups`,
    );
  }
  return { feed: ownRuntimeFeed(stored, config.runtime), writable: writes ? stored : undefined };
}

function fixedFeed(config: Config): ConfigFeed {
  const feed = new FeedState();
  feed.replace({ config, revision: 1 });
  return feed;
}
