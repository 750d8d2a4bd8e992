import { resolvePolicy, validateConfig } from "@switchyard/config";
import type { Policy } from "@switchyard/core";
import { stringify } from "yaml";

/** The policy that a group gets of a preset alone: what cases with scaled times are scaled from. */
export function policyOf(preset: string): Policy {
  const { config } = validateConfig(configWith({ policy: { preset } }));
  const [group] = config?.groups ?? [];
  if (group === undefined) throw new Error(`${preset} makes no valid config`);
  return resolvePolicy(group.policy);
}

const PROVIDER = {
  family: "openai_compatible",
  base_url: "http://127.0.0.1:1/v1",
  credential: { none: true },
};

/** A config of providers `a` and `b` and a group with these fields over one that lists a model of each. */
export function configWith(group: object): string {
  const deployments = [
    { provider: "a", model: "m" },
    { provider: "b", model: "m" },
  ];
  return stringify({
    providers: [
      { name: "a", ...PROVIDER },
      { name: "b", ...PROVIDER },
    ],
    groups: [{ name: "g", deployments, ...group }],
  });
}
