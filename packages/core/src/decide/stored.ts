import {
  groupKey,
  groupOf,
  type CallerKey,
  type ConfigSnapshot,
  type Group,
} from "../domain/config-snapshot.ts";
import type { RefuseDecision } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import type { KeptResponse, RequestFacts } from "../domain/request-facts.ts";
import type { DecideInput } from "./input.ts";
import { affinityOf } from "./place.ts";
import { refuseModel, refuseStored, refuseUnknownResponse } from "./refusals.ts";
import type { Filtered } from "./stages.ts";

/**
 * P8: the group of a request that reads or continues a stored response. Known: the group that made it, which the key must be granted, as it
 * must those that made what else the request names; a request to go on may name another that has the same account. Unknown: the group that it names, else the key's groups, where one account
 * alone keeps responses, or the affinity key says which.
 */
export function groupOfStored(
  input: DecideInput,
  key: CallerKey,
  named: Group | undefined,
): Group | RefuseDecision {
  const { config } = input;
  const { kept, model } = input.request.facts;
  if (kept !== undefined) return groupOfKept(config, key, kept, named);
  if (named !== undefined) return isCertain(input, named) ? named : refuseStored(named);
  if (model !== undefined && model !== "") return refuseModel(key, model);
  const keeping = key.groups
    .flatMap((name) => config.groups.get(groupKey(key.project, name)) ?? [])
    .filter((group) => keepersOf(group).size > 0);
  const [first] = keeping;
  const keepers = new Set(keeping.flatMap((group) => [...keepersOf(group)]));
  return first !== undefined && keepers.size === 1 ? first : refuseStored();
}

function groupOfKept(
  config: ConfigSnapshot,
  key: CallerKey,
  kept: KeptResponse,
  named: Group | undefined,
): Group | RefuseDecision {
  const made = grantedGroup(config, key, kept.group);
  if (made === undefined || kept.others?.some((other) => grantedGroup(config, key, other) === undefined)) {
    return refuseUnknownResponse();
  }
  const hasAccount = (group: Group | undefined): group is Group =>
    group?.deployments.some((deployment) => deployment.provider === kept.provider) === true;
  if (hasAccount(named)) return named;
  const served = groupOf(config, kept.servedBy);
  return hasAccount(served) ? served : made;
}

function grantedGroup(config: ConfigSnapshot, key: CallerKey, name: string): Group | undefined {
  const group = groupOf(config, name);
  if (group === undefined || group.project !== key.project) return undefined;
  const granted = key.grants.has(group.name) || (key.allowDirect && config.direct.has(group.key));
  return granted ? group : undefined;
}

/**
 * Whether it is plain which account of the group keeps the response. One that keeps none is refused by its filter. A conversation's key is
 * made of the turns that are sent, which are others than those of the response that is continued (F4): it says nothing.
 */
function isCertain(input: DecideInput, group: Group): boolean {
  if (keepersOf(group).size <= 1) return true;
  return group.policy.affinity?.by !== "conversation" && affinityOf(input, group) !== undefined;
}

function keepersOf({ deployments }: Group): ReadonlySet<string> {
  return new Set(deployments.filter(keeps).map(({ provider }) => provider));
}

function keeps({ stores, native }: Deployment): boolean {
  return stores === true && native.has("responses");
}

/**
 * P8: a request for a stored response goes to the account that keeps it, where that is known, and never to one that keeps none; one whose
 * answer is to be kept goes to a deployment that keeps it, unless none of the list does.
 */
export function mayKeep(group: Group, deployment: Deployment, facts: RequestFacts): boolean {
  if (facts.endpoint !== "responses") return true;
  if (facts.storedResponse) {
    return keeps(deployment) && (facts.kept === undefined || facts.kept.provider === deployment.provider);
  }
  return facts.store !== true || keeps(deployment) || !group.deployments.some(keeps);
}

/** BH-31: of the eligible deployments those of the account that can read what the request brings back, where there are any. */
export function nearOrigin(input: DecideInput, group: Group, found: Filtered): Filtered {
  const { originProvider } = input.request.facts;
  if (originProvider === undefined) return found;
  let near = 0;
  for (const [index, { provider }] of group.deployments.entries()) {
    if (provider === originProvider) near |= found.eligible & (1 << index);
  }
  return near === 0 ? found : { ...found, eligible: near };
}
