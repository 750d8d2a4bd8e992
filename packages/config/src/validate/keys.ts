import { groupKey } from "@switchyard/core";
import type { Key, KeySecret } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { suggestion } from "../decode/nearest.ts";
import { duplicates, eachAt, indexGroups, projectOf, unknownGroup } from "./check.ts";
import type { Check } from "./check.ts";

/** Keys are granted groups of their own project, and belong to teams that exist. */
export const keyReferences: Check = (config) => {
  const faults: Fault[] = [];
  const known = indexGroups(config);
  const teams = config.teams.map(({ name }) => name);
  eachAt(config.keys, "keys", (key, at) => {
    const project = projectOf(key);
    eachAt(key.groups, `${at}.groups`, (name, path) => {
      if (known.has(groupKey(project, name))) return;
      faults.push({ path, message: unknownGroup(config, name, project) });
    });
    if (key.team !== "" && !teams.includes(key.team)) {
      faults.push({
        path: `${at}.team`,
        message: `unknown team "${key.team}"${suggestion(key.team, teams)}`,
      });
    }
  });
  return faults;
};

/** Projects need not be declared, but one that nothing else names is a slip of the pen. */
export const knownProjects: Check = (config) => {
  const known = new Set([
    "default",
    ...config.projects.map(({ name }) => name),
    ...config.groups.map(projectOf),
  ]);
  const faults: Fault[] = [];
  eachAt(config.keys, "keys", (key, at) => {
    const project = projectOf(key);
    if (known.has(project)) return;
    faults.push({
      path: `${at}.project`,
      message: `unknown project "${project}"${suggestion(project, known)}`,
    });
  });
  return faults;
};

/** R3: a pinned key has exactly one group to be pinned to. */
export const pinnedKeys: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.keys, "keys", ({ ignoreModel, groups }: Key, at) => {
    if (!ignoreModel || groups.length === 1) return;
    faults.push({
      path: `${at}.ignore_model`,
      message: `needs exactly one group, and "groups" lists ${groups.length}`,
    });
  });
  return faults;
};

/** A secret finds one key. */
export const distinctSecrets: Check = (config) =>
  duplicates(config.keys, "keys", "secret", ({ secret }) => identityOf(secret), "the secret");

function identityOf(secret: KeySecret | undefined): string | undefined {
  const source = secret?.source;
  if (source?.case === undefined) return undefined;
  return `${source.case}:${source.case === "sha256" ? source.value.toLowerCase() : source.value}`;
}
