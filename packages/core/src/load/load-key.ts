import { groupOf, type ConfigSnapshot } from "../domain/config-snapshot.ts";

/** The load key of a deployment of a group, `DeploymentScopes.model`; undefined when the config knows no such. */
export type LoadKeyLookup = (group: string, deployment: string) => string | undefined;

/** {@link LoadKeyLookup} over a config, direct groups (R9) included. */
export function loadKeyLookup(config: ConfigSnapshot): LoadKeyLookup {
  return (group, deployment) =>
    groupOf(config, group)?.deployments.find(({ id }) => id === deployment)?.scopes.model;
}
