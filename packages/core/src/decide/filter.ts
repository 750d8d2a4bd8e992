import type { FailedAttempt, History } from "../domain/attempt.ts";
import { groupOf, type ConfigSnapshot, type Group } from "../domain/config-snapshot.ts";
import type { Deployment } from "../domain/deployment.ts";
import { typeOfEndpoint } from "../domain/endpoint.ts";
import type { Policy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";
import { benchedUntil, benchesAtAll } from "../health/benched-until.ts";
import type { DecideInput } from "./input.ts";

/**
 * The filters of R1 in their order: a deployment's stage is the first that stops it, and the latest stage that any
 * deployment of a group reached is the filter that emptied it. Limits of a deployment's own join before `benched`.
 */
export const STAGES = ["own_key", "endpoint", "not_ready", "paused", "tried", "benched", "eligible"] as const;

export type Stage = (typeof STAGES)[number];

export type Blocked = Exclude<Stage, "eligible">;

const OWN_KEY = 0;
const ENDPOINT = 1;
const NOT_READY = 2;
const PAUSED = 3;
const TRIED = 4;
const BENCHED = 5;
const ELIGIBLE = 6;

/** What one pass over a group's deployments found. */
export interface Filtered {
  /** Bit i for `group.deployments[i]`. */
  readonly eligible: number;
  /** How many can serve the request, benched and already tried ones included. */
  readonly candidates: number;
  /** The filter that emptied the set; `eligible` when it did not. */
  readonly stage: Stage;
  /** Index of the benched candidate whose bench ends first, -1 without one, and when that is (R7). */
  readonly soonest: number;
  readonly soonestUntil: EpochMs;
}

/** Walks the candidates of a group once. */
export function filterGroup(input: DecideInput, group: Group, elsewhere: readonly string[]): Filtered {
  const { deployments, policy } = group;
  const heeds = benchesAtAll(policy.bench);
  let eligible = 0;
  let candidates = 0;
  let furthest = -1;
  let soonest = -1;
  let soonestUntil = Number.POSITIVE_INFINITY;
  for (let index = 0; index < deployments.length; index += 1) {
    const deployment = deployments[index];
    if (deployment === undefined) break;
    let stage = stageBeforeBench(input, group, policy, deployment, elsewhere);
    if (stage >= TRIED) candidates += 1;
    if (stage === BENCHED) {
      const until = benchedUntil(input.health, group.key, heeds, deployment.scopes);
      if (until <= input.now) {
        stage = ELIGIBLE;
        eligible |= 1 << index;
      } else if (until < soonestUntil) {
        soonest = index;
        soonestUntil = until;
      }
    }
    if (stage > furthest) furthest = stage;
  }
  return { eligible, candidates, stage: STAGES[furthest] ?? "paused", soonest, soonestUntil };
}

/** The stage of one deployment, for the explanation. */
export function stageOf(
  input: DecideInput,
  group: Group,
  deployment: Deployment,
  elsewhere: readonly string[],
): Stage {
  const stage = stageBeforeBench(input, group, group.policy, deployment, elsewhere);
  if (stage < BENCHED) return STAGES[stage] ?? "own_key";
  return isBenched(input, group, deployment) ? "benched" : "eligible";
}

/** Whether a deployment that was tried may be called again (E1): still there, ready, not paused, not benched. */
export function isReusable(input: DecideInput, group: Group, deployment: Deployment): boolean {
  const stage = stageBeforeBench(input, group, group.policy, deployment, NOWHERE);
  return stage >= TRIED && !isBenched(input, group, deployment);
}

/**
 * Model scopes called for this request in groups other than `group`: a fallback group does not call them again,
 * so that no provider's model gets a second round (BH-03).
 */
export function triedElsewhere(config: ConfigSnapshot, history: History, group: Group): readonly string[] {
  if (history.hops.length === 0) return NOWHERE;
  const models: string[] = [];
  for (const attempt of history.attempts) {
    if (attempt.group === group.key) continue;
    const tried = deploymentOf(groupOf(config, attempt.group), attempt.deployment);
    if (tried !== undefined) models.push(tried.scopes.model);
  }
  return models;
}

/** The deployment of a group by its id. */
export function deploymentOf(group: Group | undefined, id: string): Deployment | undefined {
  return group?.deployments.find((deployment) => deployment.id === id);
}

const NOWHERE: readonly string[] = [];

function isBenched(input: DecideInput, group: Group, deployment: Deployment): boolean {
  return benchEnd(input, group, deployment) > input.now;
}

/** When the bench that a group sees on a deployment ends; not later than now where none stands. */
export function benchEnd(input: DecideInput, group: Group, deployment: Deployment): EpochMs {
  return benchedUntil(input.health, group.key, benchesAtAll(group.policy.bench), deployment.scopes);
}

/** Index in {@link STAGES}; `BENCHED` when only a bench can still stop it. */
function stageBeforeBench(
  input: DecideInput,
  group: Group,
  policy: Policy,
  deployment: Deployment,
  elsewhere: readonly string[],
): number {
  const { facts } = input.request;
  const ownKey = facts.ownKeyProvider;
  if (ownKey !== undefined && ownKey !== deployment.provider) return OWN_KEY;
  if (!serves(deployment, policy, input)) return ENDPOINT;
  // A caller's own key stands in for the credential that is missing (E9).
  if (ownKey === undefined && input.load.notReady.has(deployment.provider)) return NOT_READY;
  if (deployment.paused) return PAUSED;
  // Weight 0 is as good as paused under A, whatever became of the deployments that have a weight (R6).
  if (deployment.weight === 0 && policy.strategy === "weighted" && policy.zeroWeight === "off") return PAUSED;
  if (wasTried(input.history.attempts, group.key, deployment, elsewhere)) return TRIED;
  return BENCHED;
}

/** R4 and R5. */
function serves(deployment: Deployment, policy: Policy, input: DecideInput): boolean {
  const { endpoint } = input.request.facts;
  if (deployment.type !== undefined && deployment.type !== typeOfEndpoint(endpoint)) return false;
  if (endpoint === "embeddings" && policy.skipEmbeddingsFamilies.has(deployment.family)) return false;
  return deployment.native.has(endpoint) || (policy.translate && deployment.translated.has(endpoint));
}

function wasTried(
  attempts: readonly FailedAttempt[],
  group: string,
  deployment: Deployment,
  elsewhere: readonly string[],
): boolean {
  for (let index = 0; index < attempts.length; index += 1) {
    const attempt = attempts[index];
    if (attempt?.deployment === deployment.id && attempt.group === group) return true;
  }
  return elsewhere.length > 0 && elsewhere.includes(deployment.scopes.model);
}
