import type { Deployment, Group } from "@switchyard/proto/config/v1/config";
import { DeploymentType } from "@switchyard/proto/config/v1/config";
import type { Fault } from "../fault.ts";
import { suggestion } from "../decode/nearest.ts";
import { groupWeights, keepsPercent } from "../presets/weights.ts";
import { canonicalProvider, deploymentId, eachAt } from "./check.ts";
import type { Check } from "./check.ts";

/** R11: most deployments of one group. */
const MAX_DEPLOYMENTS = 32;

/** R11: a group has 1 to 32 deployments. */
export const deploymentCounts: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ deployments }, path) => {
    const count = deployments.length;
    if (count >= 1 && count <= MAX_DEPLOYMENTS) return;
    faults.push({
      path: `${path}.deployments`,
      message: `must list 1 to ${MAX_DEPLOYMENTS} deployments, not ${count}`,
    });
  });
  return faults;
};

/** R11: deployments name known providers. */
export const knownProviders: Check = (config) => {
  const names = config.providers.map(({ name }) => name);
  const known = new Set(names.map(canonicalProvider));
  const faults: Fault[] = [];
  eachDeployment(config.groups, ({ provider }, path) => {
    if (provider === "" || known.has(canonicalProvider(provider))) return;
    faults.push({
      path: `${path}.provider`,
      message: `unknown provider "${provider}"${suggestion(provider, names)}`,
    });
  });
  return faults;
};

/** R11: a deployment is listed once; the same model twice needs explicit ids. */
export const listedOnce: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", ({ deployments }, groupPath) => {
    const first = new Map<string, string>();
    eachAt(deployments, `${groupPath}.deployments`, (deployment, path) => {
      if (deployment.provider === "" || deployment.model === "") return;
      const id = deploymentId(deployment);
      const earlier = first.get(id);
      if (earlier === undefined) {
        first.set(id, path);
      } else if (deployment.id === "") {
        faults.push({
          path,
          message: `"${id}" is already listed as ${earlier}; a second one needs an explicit id`,
        });
      } else {
        faults.push({ path: `${path}.id`, message: `"${id}" is already the id of ${earlier}` });
      }
    });
  });
  return faults;
};

/** K6: under percent, weights total 100. */
export const percentTotals: Check = (config) => {
  const faults: Fault[] = [];
  eachAt(config.groups, "groups", (group, path) => {
    if (group.deployments.length === 0 || !keepsPercent(group)) return;
    const total = groupWeights(group).reduce((sum, weight) => sum + weight, 0);
    if (total === 100) return;
    const message = `weights total ${total}; under "weights: percent" they total 100 (left out: 100 for the first, 0 for others)`;
    faults.push({ path: `${path}.deployments`, message });
  });
  return faults;
};

/** R11, a warning: vectors of different embedding models cannot be compared. */
export const sameEmbeddingModel: Check = (config) => {
  const warnings: Fault[] = [];
  eachAt(config.groups, "groups", (group, path) => {
    const embedding = group.deployments.filter(
      (deployment) => typeOf(group, deployment) === DeploymentType.EMBEDDING,
    );
    const models = [...new Set(embedding.map(({ model }) => model))];
    if (models.length < 2) return;
    const message = `embedding deployments with different models (${models.join(", ")}): their vectors cannot be compared`;
    warnings.push({ path: `${path}.deployments`, message });
  });
  return warnings;
};

function typeOf(group: Group, deployment: Deployment): DeploymentType {
  return deployment.type === DeploymentType.UNSPECIFIED ? group.type : deployment.type;
}

function eachDeployment(
  groups: readonly Group[],
  visit: (deployment: Deployment, path: string) => void,
): void {
  eachAt(groups, "groups", (group, path) => eachAt(group.deployments, `${path}.deployments`, visit));
}
