import { connectNatsBus } from "@switchyard/bus";
import { BUCKETS, createStoreFeed } from "../../packages/cluster/src/index.ts";
import { readConfig } from "./gateway-config.ts";

const APPLY_WITHIN_MS = 5_000;

/** Writes configs to the store on NATS, as `apply` does. */
export interface StoreWriter {
  /** Resolves to the revision written. */
  apply(text: string): Promise<number>;
  close(): Promise<void>;
}

/** Connects a writer of its own to the cluster's store. */
export async function openStoreWriter(natsUrl: string): Promise<StoreWriter> {
  const bus = connectNatsBus({ servers: [natsUrl], name: "test-apply", log: () => undefined });
  const feed = createStoreFeed({
    store: bus.keyValue(BUCKETS.config),
    seed: undefined,
    now: Date.now,
    report: () => undefined,
    faultsOf: () => [],
    writes: true,
  });
  if ((await feed.ready(APPLY_WITHIN_MS)) === undefined)
    throw new Error("the config store on NATS stays empty");
  return {
    apply: async (text) => {
      const { revision } = await feed.apply(readConfig(text), "test", undefined);
      return revision;
    },
    close: () => {
      feed.close();
      return bus.close();
    },
  };
}
