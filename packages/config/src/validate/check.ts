import type { Config, Group } from "@switchyard/proto/config/v1/config";
import { fieldPath, itemPath } from "../fault.ts";
import type { Fault } from "../fault.ts";

/** One rule about several parts of a config at once. Pure; finds every place that breaks it. */
export type Check = (config: Config) => Fault[];

/** The project of a group or key; `default` when none is written. */
export function projectOf(owner: { readonly project: string }): string {
  return owner.project === "" ? "default" : owner.project;
}

/** Providers compare without regard to case: this is the form in which they are compared and shown. */
export function canonicalProvider(name: string): string {
  return name.toLowerCase();
}

/** The id of a deployment in its group: the explicit one, else `provider/model`. */
export function deploymentId(deployment: { id: string; provider: string; model: string }): string {
  return deployment.id === ""
    ? `${canonicalProvider(deployment.provider)}/${deployment.model}`
    : deployment.id;
}

/** Calls `visit` for every element with its path. */
export function eachAt<T>(
  items: readonly T[],
  path: string,
  visit: (item: T, path: string, index: number) => void,
): void {
  for (const [index, item] of items.entries()) visit(item, itemPath(path, index), index);
}

/** Says that a name is not known in `project`; where another project has the group, that is the fault. */
export function unknownGroup(config: Config, name: string, project: string): string {
  const elsewhere = config.groups.find((group) => group.name === name);
  if (elsewhere === undefined) return `unknown group "${name}" in project "${project}"`;
  return `group "${name}" is in project "${projectOf(elsewhere)}", not "${project}"; nothing crosses projects`;
}

/** The group of that name in that project. */
export function findGroup(config: Config, project: string, name: string): Group | undefined {
  return config.groups.find((group) => group.name === name && projectOf(group) === project);
}

/** A fault for each element whose `identity` an earlier one has; undefined identities are not compared. */
export function duplicates<T>(
  items: readonly T[],
  path: string,
  field: string,
  identity: (item: T) => string | undefined,
  what: string,
): Fault[] {
  const faults: Fault[] = [];
  const first = new Map<string, string>();
  eachAt(items, path, (item, at) => {
    const value = identity(item);
    if (value === undefined || value === "") return;
    const earlier = first.get(value);
    if (earlier === undefined) first.set(value, at);
    else faults.push({ path: fieldPath(at, field), message: `${what} is already that of ${earlier}` });
  });
  return faults;
}
