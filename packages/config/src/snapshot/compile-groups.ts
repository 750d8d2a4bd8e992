import { deploymentScope, directKey, groupKey, modelScope, providerScope } from "@switchyard/core";
import type { Deployment, DeploymentType, Group, Price } from "@switchyard/core";
import { DeploymentType as TypeMessage } from "@switchyard/proto/config/v1/config";
import type {
  Config,
  Deployment as DeploymentMessage,
  Group as GroupMessage,
  Price as PriceMessage,
} from "@switchyard/proto/config/v1/config";
import { resolvePolicy } from "../presets/resolve-policy.ts";
import { groupWeights } from "../presets/weights.ts";
import { canonicalProvider, deploymentId, projectOf } from "../validate/check.ts";
import { accountReach, keepsResponses, readProviders } from "./provider-account.ts";
import type { ProviderAccount } from "./provider-account.ts";

/** The model groups of a valid config, by {@link groupKey}. */
export function compileGroups(config: Config): ReadonlyMap<string, Group> {
  const accounts = new Map(readProviders(config).map((account) => [account.name, account]));
  const groups = new Map<string, Group>();
  for (const message of config.groups) {
    const key = groupKey(projectOf(message), message.name);
    const weights = groupWeights(message);
    const deployments = message.deployments.flatMap((deployment, index) => {
      const account = accounts.get(canonicalProvider(deployment.provider));
      if (account === undefined) return [];
      return [compileDeployment(deployment, { key, message, account, weight: weights[index] ?? 1 })];
    });
    const policy = resolvePolicy(message.policy);
    groups.set(key, { key, name: message.name, project: projectOf(message), deployments, policy });
  }
  return groups;
}

/** What a deployment takes from around it. */
interface Surroundings {
  /** Of the group. */
  readonly key: string;
  readonly message: GroupMessage;
  readonly account: ProviderAccount;
  readonly weight: number;
}

function compileDeployment(deployment: DeploymentMessage, around: Surroundings): Deployment {
  const { account } = around;
  const id = deploymentId(deployment);
  return {
    id,
    provider: account.name,
    model: deployment.model,
    family: account.family,
    weight: around.weight,
    paused: deployment.paused,
    type: typeName(deployment.type) ?? typeName(around.message.type),
    price: deployment.price && compilePrice(deployment.price),
    limits: deployment.limits && {
      rpm: perMinute(deployment.limits.rpm),
      tpm: perMinute(deployment.limits.tpm),
    },
    ...accountReach(account, deployment.model),
    stores: keepsResponses(account),
    scopes: {
      deployment: deploymentScope(around.key, id),
      model: modelScope(account.name, deployment.model),
      provider: providerScope(account.name),
    },
  };
}

/** Prices that are not given stay away, so that two snapshots of one config are alike. */
function compilePrice({
  input,
  output,
  cachedInput,
  cacheWrite,
  audioInput,
  audioOutput,
}: PriceMessage): Price {
  return {
    input,
    output,
    ...(cachedInput === undefined ? {} : { cachedInput }),
    ...(cacheWrite === undefined ? {} : { cacheWrite }),
    ...(audioInput === undefined ? {} : { audioInput }),
    ...(audioOutput === undefined ? {} : { audioOutput }),
  };
}

function perMinute(limit: bigint | undefined): number | undefined {
  return limit === undefined ? undefined : Number(limit);
}

function typeName(type: TypeMessage): DeploymentType | undefined {
  if (type === TypeMessage.CHAT) return "chat";
  return type === TypeMessage.EMBEDDING ? "embedding" : undefined;
}

/**
 * R9: a group of one for each provider and model that stands in some group of a project, by {@link directKey}, with
 * the policy of the first such group but no fallbacks. Its weight is 1: a standby of a group is no standby here.
 */
export function compileDirect(groups: Iterable<Group>): ReadonlyMap<string, Group> {
  const direct = new Map<string, Group>();
  for (const { project, deployments, policy } of groups) {
    for (const deployment of deployments) {
      const key = directKey(project, deployment.provider, deployment.model);
      if (direct.has(key)) continue;
      const id = `${deployment.provider}/${deployment.model}`;
      const scopes = { ...deployment.scopes, deployment: deploymentScope(key, id) };
      direct.set(key, {
        key,
        name: id,
        project,
        deployments: [{ ...deployment, id, weight: 1, scopes }],
        policy: { ...policy, fallback: NO_FALLBACKS },
      });
    }
  }
  return direct;
}

const NO_FALLBACKS = { general: undefined, context: undefined, content: undefined, quota: undefined };
