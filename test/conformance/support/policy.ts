import { decodeConfig, resolvePolicy } from "@switchyard/config";
import type { Policy } from "@switchyard/core";
import { stringify } from "yaml";

/** The whole policy of a group that has only this preset, and what is set beside it. */
export function policyOf(preset: string | undefined, more: object = {}): Policy {
  const deployments = [{ provider: "a", model: "m" }];
  const policy = preset === undefined ? more : { preset, ...more };
  const text = stringify({ groups: [{ name: "g", deployments, policy }] });
  const { config, faults } = decodeConfig(text);
  if (config === undefined) throw new Error(JSON.stringify(faults));
  return resolvePolicy(config.groups[0]?.policy);
}
