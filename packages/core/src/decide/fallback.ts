import type { FallbackKind, History } from "../domain/attempt.ts";
import { groupKey, type ConfigSnapshot, type Group } from "../domain/config-snapshot.ts";
import { MERIT_CLASSES } from "../domain/error-class.ts";

/** Hops that one request may make (E4). */
export const MAX_HOPS = 3;

/**
 * The fallback group to hop to, undefined where there is none left: the current group's own, then, where the group
 * asked for has no `general` of its own, the project's defaults in their order (G3). Visited groups are skipped.
 */
export function fallbackGroup(
  config: ConfigSnapshot,
  history: History,
  asked: Group,
  current: Group,
  kind: FallbackKind,
): Group | undefined {
  if (history.hops.length >= MAX_HOPS) return undefined;
  const own = unvisited(config, history, asked, current.policy.fallback[kind]);
  if (own !== undefined || kind !== "general") return own;
  // A request for one provider's model has that one candidate (R9).
  if (asked.policy.fallback.general !== undefined || config.direct.has(asked.key)) return undefined;
  // What was rejected on its merits goes to the fallback of its own kind or back to the caller (E1).
  const last = history.attempts[history.attempts.length - 1];
  if (last !== undefined && MERIT_CLASSES.has(last.error)) return undefined;
  for (const name of config.defaultFallbacks.get(asked.project) ?? []) {
    const group = unvisited(config, history, asked, name);
    if (group !== undefined) return group;
  }
  return undefined;
}

function unvisited(
  config: ConfigSnapshot,
  history: History,
  asked: Group,
  name: string | undefined,
): Group | undefined {
  if (name === undefined) return undefined;
  const group = config.groups.get(groupKey(asked.project, name));
  if (group === undefined || group.key === asked.key) return undefined;
  return history.hops.some((hop) => hop.group === group.key) ? undefined : group;
}
