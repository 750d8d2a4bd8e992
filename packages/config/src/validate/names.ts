import { canonicalProvider, duplicates, eachAt, projectOf } from "./check.ts";
import type { Check } from "./check.ts";
import type { Fault } from "../fault.ts";

/** Names are unique: of groups in their project, of providers without regard to case. */
export const uniqueNames: Check = (config) => [
  ...duplicates(config.projects, "projects", "name", ({ name }) => name, "the name"),
  ...duplicates(
    config.providers,
    "providers",
    "name",
    ({ name }) => canonicalProvider(name),
    "the name (upper and lower case count as the same)",
  ),
  ...duplicates(
    config.groups,
    "groups",
    "name",
    (group) => (group.name === "" ? undefined : `${projectOf(group)}/${group.name}`),
    "the name in this project",
  ),
  ...duplicates(config.keys, "keys", "name", ({ name }) => name, "the name"),
  ...duplicates(config.teams, "teams", "name", ({ name }) => name, "the name"),
  ...duplicates(config.nativeEndpoints, "native_endpoints", "path", ({ path }) => path, "the path"),
];

const CONTROL = /\p{Cc}|\p{Zl}|\p{Zp}/u;

/** Group names travel in headers and messages, and are compared exactly. */
export const printableGroupNames: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ name }, path) => {
    if (CONTROL.test(name))
      faults.push({ path: `${path}.name`, message: "must not hold control characters or line ends" });
    else if (name !== name.trim())
      faults.push({ path: `${path}.name`, message: "must not start or end with white space" });
  });
  return faults;
};
