import {
  directKey,
  groupKey,
  groupOf,
  type CallerKey,
  type ConfigSnapshot,
  type Group,
} from "../domain/config-snapshot.ts";
import type { RefuseDecision } from "../domain/decision.ts";
import type { DecideInput } from "./input.ts";
import { groupOfStored } from "./stored.ts";
import { nativeFamilies } from "./native.ts";
import { refuseKey, refuseModel, refuseUnknownPath } from "./refusals.ts";

/**
 * R1's first steps: the key is known, the path served, the group resolved and granted. Limits, budget and cache join here, between
 * the grant and the candidates. A request that comes back with a history was admitted before.
 */
export function admit(input: DecideInput): Group | RefuseDecision {
  const { key, facts } = input.request;
  if (key === undefined) return refuseKey();
  if (facts.endpoint === "native" && nativeFamilies(input) === undefined) return refuseUnknownPath(facts);
  const { asked } = input.history;
  if (asked === undefined && facts.storedResponse) {
    return groupOfStored(input, key, resolve(input.config, key, facts.model));
  }
  const group = asked === undefined ? resolve(input.config, key, facts.model) : groupOf(input.config, asked);
  return group ?? refuseModel(key, facts.model === "" ? undefined : facts.model);
}

/** R2, R3, R9. Undefined for whatever the key may not name, whether or not it exists. */
function resolve(config: ConfigSnapshot, key: CallerKey, model: string | undefined): Group | undefined {
  if (model === undefined || model === "" || key.ignoreModel) {
    const only = key.groups.length === 1 ? key.groups[0] : undefined;
    return only === undefined ? undefined : config.groups.get(groupKey(key.project, only));
  }
  if (key.grants.has(model)) return config.groups.get(groupKey(key.project, model));
  if (!key.allowDirect) return undefined;
  const slash = model.indexOf("/");
  if (slash <= 0) return undefined;
  const provider = model.slice(0, slash).toLowerCase();
  return config.direct.get(directKey(key.project, provider, model.slice(slash + 1)));
}
