import { groupKey } from "@switchyard/core";
import type { Config, Group } from "@switchyard/proto/config/v1/config";
import { suggestion } from "../decode/nearest.ts";
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

/** Says that a group is not known in `project`, and where another project has it or a like name is known. */
export function unknownGroup(config: Config, name: string, project: string): string {
  const elsewhere = config.groups.find((group) => group.name === name);
  if (elsewhere === undefined) {
    return `unknown group "${name}" in project "${project}"${suggestion(name, groupNames(config, project))}`;
  }
  return `group "${name}" is in project "${projectOf(elsewhere)}", not "${project}"; nothing crosses projects`;
}

/** Groups by project and name; of two with one name, the first. */
export function indexGroups(config: Config): ReadonlyMap<string, Group> {
  const index = new Map<string, Group>();
  for (const group of config.groups) {
    const key = groupKey(projectOf(group), group.name);
    if (!index.has(key)) index.set(key, group);
  }
  return index;
}

/** Names of a project's groups, for suggestions. */
function groupNames(config: Config, project: string): string[] {
  return config.groups.filter((group) => projectOf(group) === project).map(({ name }) => name);
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
