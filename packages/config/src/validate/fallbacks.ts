import { groupKey } from "@switchyard/core";
import type { Config, Group } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { eachAt, indexGroups, projectOf, unknownGroup } from "./check.ts";
import type { Check } from "./check.ts";

const KINDS = ["general", "context", "content", "quota"] as const;

/** A move that a config allows from one group to another, and where it says so. */
interface Edge {
  readonly from: Group;
  readonly to: Group;
  readonly path: string;
}

/** R11, G1: fallbacks and default fallbacks are groups of the same project. */
export const knownFallbacks: Check = (config) => {
  const faults: Fault[] = [];
  const known = indexGroups(config);
  const check = (name: string, project: string, path: string): void => {
    if (name === "" || known.has(groupKey(project, name))) return;
    faults.push({ path, message: unknownGroup(config, name, project) });
  };
  eachAt(config.projects, "projects", ({ name, defaultFallbacks }, at) => {
    eachAt(defaultFallbacks, `${at}.default_fallbacks`, (fallback, path) => check(fallback, name, path));
  });
  eachAt(config.groups, "groups", (group, at) => {
    for (const kind of KINDS) {
      check(group.policy?.fallback?.[kind] ?? "", projectOf(group), `${at}.policy.fallback.${kind}`);
    }
  });
  return faults;
};

/** R11, G1, G3: no group falls back to itself, directly or by a loop over all kinds and the project's defaults. */
export const fallbackLoops: Check = (config) => {
  const edges = fallbackEdges(config);
  const faults: Fault[] = [];
  const reported = new Set<Group>();
  for (const start of config.groups) {
    if (reported.has(start)) continue;
    const loop = loopThrough(start, edges);
    const first = loop?.[0];
    if (loop === undefined || first === undefined) continue;
    for (const { to } of loop) reported.add(to);
    const names = [start.name, ...loop.map(({ to }) => to.name)].join(" -> ");
    const message = loop.length === 1 ? `falls back to itself: ${names}` : `fallbacks loop: ${names}`;
    faults.push({ path: first.path, message });
  }
  return faults;
};

/** The shortest way from a group back to itself. */
function loopThrough(start: Group, edges: ReadonlyMap<Group, readonly Edge[]>): Edge[] | undefined {
  const cameBy = new Map<Group, Edge>();
  const queue = [start];
  for (const group of queue) {
    for (const edge of edges.get(group) ?? []) {
      if (edge.to === start) return wayTo(edge, cameBy);
      if (cameBy.has(edge.to)) continue;
      cameBy.set(edge.to, edge);
      queue.push(edge.to);
    }
  }
  return undefined;
}

function wayTo(last: Edge, cameBy: ReadonlyMap<Group, Edge>): Edge[] {
  const way = [last];
  for (let edge = cameBy.get(last.from); edge !== undefined; edge = cameBy.get(edge.from)) way.unshift(edge);
  return way;
}

function fallbackEdges(config: Config): Map<Group, Edge[]> {
  const known = indexGroups(config);
  const edges = new Map<Group, Edge[]>();
  eachAt(config.groups, "groups", (group, at) => {
    edges.set(group, [...ownEdges(known, group, at), ...defaultEdges(config, known, group)]);
  });
  return edges;
}

function ownEdges(known: ReadonlyMap<string, Group>, group: Group, at: string): Edge[] {
  return KINDS.flatMap((kind) => {
    const name = group.policy?.fallback?.[kind] ?? "";
    const to = name === "" ? undefined : known.get(groupKey(projectOf(group), name));
    return to === undefined ? [] : [{ from: group, to, path: `${at}.policy.fallback.${kind}` }];
  });
}

/**
 * G3: a group without a `general` of its own moves to the project's defaults. The defaults themselves are left out:
 * they pass over each other and over themselves as groups already visited, which is no loop.
 */
function defaultEdges(config: Config, known: ReadonlyMap<string, Group>, group: Group): Edge[] {
  const place = config.projects.findIndex(({ name }) => name === projectOf(group));
  const defaults = config.projects[place]?.defaultFallbacks ?? [];
  if ((group.policy?.fallback?.general ?? "") !== "" || defaults.includes(group.name)) return [];
  return defaults.flatMap((name, index) => {
    const to = known.get(groupKey(projectOf(group), name));
    return to === undefined
      ? []
      : [{ from: group, to, path: `projects[${place}].default_fallbacks[${index}]` }];
  });
}
