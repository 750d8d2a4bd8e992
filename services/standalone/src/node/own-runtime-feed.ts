import { create } from "@bufbuild/protobuf";
import type { AppliedConfig, ConfigFeed } from "@switchyard/cluster";
import { Auth, ConfigSchema, RuntimeSchema } from "@switchyard/proto/config/v1/config";
import type { Runtime } from "@switchyard/proto/config/v1/config";

/**
 * A stored config with what this process's own file says of itself: whether it asks callers for keys. The rest of
 * `runtime` was used up when the process started, and the admin API compares configs without it.
 */
export function ownRuntimeFeed(stored: ConfigFeed, runtime: Runtime | undefined): ConfigFeed {
  if (runtime?.auth !== Auth.OPEN) return stored;
  const own = create(RuntimeSchema, { auth: Auth.OPEN });
  const added = (applied: AppliedConfig): AppliedConfig => ({
    ...applied,
    config: create(ConfigSchema, { ...applied.config, runtime: own }),
  });
  return {
    current: () => {
      const applied = stored.current();
      return applied === undefined ? undefined : added(applied);
    },
    subscribe: (listener) => stored.subscribe((applied) => listener(added(applied))),
    ready: async (withinMs) => {
      const applied = await stored.ready(withinMs);
      return applied === undefined ? undefined : added(applied);
    },
    close: () => stored.close(),
  };
}
