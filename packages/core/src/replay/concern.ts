import { groupKey, groupOf, type ConfigSnapshot, type Group } from "../domain/config-snapshot.ts";

/** What a decision for a group can read of health and load. */
export interface Concern {
  /** Keys of the group asked for and of those that its requests may hop to. */
  readonly groups: readonly string[];
  /** Load keys of their deployments. */
  readonly loads: readonly string[];
  /** Scope keys of their deployments. */
  readonly scopes: readonly string[];
}

const NOTHING: Concern = { groups: [], loads: [], scopes: [] };

// A snapshot never changes (invariant 8), so what follows from it may be remembered beside it.
const known = new WeakMap<ConfigSnapshot, Map<string, Concern>>();

/**
 * What decisions for requests that asked for a group go by; nothing where no group was found. Every kind of fallback
 * counts, whatever an attempt's end would be.
 *
 * @param asked a {@link Group.key}
 */
export function concernOf(config: ConfigSnapshot, asked: string | undefined): Concern {
  const group = asked === undefined ? undefined : groupOf(config, asked);
  if (group === undefined) return NOTHING;
  let concerns = known.get(config);
  if (concerns === undefined) known.set(config, (concerns = new Map()));
  let concern = concerns.get(group.key);
  if (concern === undefined) concerns.set(group.key, (concern = concernFrom(config, group)));
  return concern;
}

function concernFrom(config: ConfigSnapshot, asked: Group): Concern {
  const groups = new Map([[asked.key, asked]]);
  const loads = new Set<string>();
  const scopes = new Set<string>();
  // A map gives what is added while it is walked, too.
  for (const group of groups.values()) {
    const { general, context, content, quota } = group.policy.fallback;
    const names = [general, context, content, quota, ...(config.defaultFallbacks.get(asked.project) ?? [])];
    for (const name of names) {
      const next = name === undefined ? undefined : config.groups.get(groupKey(asked.project, name));
      if (next !== undefined) groups.set(next.key, next);
    }
    for (const deployment of group.deployments) {
      loads.add(deployment.scopes.model);
      for (const scope of Object.values(deployment.scopes) as string[]) scopes.add(scope);
    }
  }
  return { groups: [...groups.keys()], loads: [...loads], scopes: [...scopes] };
}
