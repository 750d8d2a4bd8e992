import type { Config } from "@switchyard/proto/config/v1/config";

/** Whether a config serves anything. A file may hold nothing but `runtime`, where the store has the rest. */
export function isUsable({ groups, providers, keys }: Config): boolean {
  return groups.length + providers.length + keys.length > 0;
}
