import { Role } from "@switchyard/proto/config/v1/config";
import type { Config, Group } from "@switchyard/proto/config/v1/config";
import type { Policy } from "@switchyard/proto/config/v1/policy";
import { mergePolicy } from "../presets/merge-policy.ts";
import type { Fault } from "../fault.ts";
import { eachAt } from "./check.ts";
import type { Check } from "./check.ts";

/** A part of a policy that the schema has and this version does not act on. */
interface NotYet {
  /** Path inside the policy. */
  readonly path: string;
  /** Whether the policy asks for it. */
  readonly asks: (policy: Policy) => boolean;
}

// Whoever makes a feature work deletes its line here.
const POLICY: readonly NotYet[] = [
  { path: "fallback.quota", asks: ({ fallback }) => (fallback?.quota ?? "") !== "" },
  { path: "cache.enabled", asks: ({ cache }) => cache?.enabled ?? false },
];

const OUTSIDE_POLICIES = [
  ["keys", "limits"],
  ["keys", "budget"],
  ["teams", "limits"],
  ["teams", "budget"],
] as const;

/** Fields that are in the schema and not in force, as in `keys[].limits`. */
export const NOT_IN_FORCE: readonly string[] = [
  ...POLICY.map(({ path }) => `groups[].policy.${path}`),
  ...OUTSIDE_POLICIES.map(([list, field]) => `${list}[].${field}`),
];

const MESSAGE = "accepted, but not enforced by this version";

/** Warnings for all that a config asks for and this version does not do: never silent. */
export const notYet: Check = (config) => [
  ...policyWarnings(config.groups),
  ...OUTSIDE_POLICIES.flatMap(([list, field]) =>
    config[list].flatMap((item, index) =>
      item[field] === undefined ? [] : [{ path: `${list}[${index}].${field}`, message: MESSAGE }],
    ),
  ),
  ...projectAdmins(config),
];

function projectAdmins({ keys }: Config): Fault[] {
  const warnings: Fault[] = [];
  eachAt(keys, "keys", ({ roles }, key) =>
    eachAt(roles, `${key}.roles`, (role, path) => {
      if (role === Role.PROJECT_ADMIN) warnings.push({ path, message: MESSAGE });
    }),
  );
  return warnings;
}

function policyWarnings(groups: readonly Group[]): Fault[] {
  const warnings: Fault[] = [];
  eachAt(groups, "groups", ({ policy }, at) => {
    const merged = mergePolicy(policy);
    for (const { path, asks } of POLICY.filter((each) => each.asks(merged))) {
      // What only the preset asks for is said at the preset: the field itself is not written anywhere.
      if (policy !== undefined && asks(policy))
        warnings.push({ path: `${at}.policy.${path}`, message: MESSAGE });
      else warnings.push({ path: `${at}.policy.preset`, message: `its ${path} is ${MESSAGE}` });
    }
  });
  return warnings;
}
