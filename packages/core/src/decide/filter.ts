import type { FailedAttempt, History } from "../domain/attempt.ts";
import { groupOf, type ConfigSnapshot, type Group } from "../domain/config-snapshot.ts";
import type { Deployment } from "../domain/deployment.ts";
import { typeOfEndpoint } from "../domain/endpoint.ts";
import { expectedTokens } from "../domain/expected-tokens.ts";
import { requestsThisMinute, tokensThisMinute } from "../domain/load-readings.ts";
import type { Policy } from "../domain/policy.ts";
import type { EpochMs } from "../domain/ports.ts";
import { draw } from "../domain/random.ts";
import { benchedUntil, benchesAtAll } from "../health/benched-until.ts";
import { probeKeys } from "../health/probe.ts";
import { rampShare } from "../health/ramp.ts";
import type { DecideInput } from "./input.ts";
import { servesNative } from "./native.ts";
import { STAGES, type Filtered, type Stage } from "./stages.ts";
import { mayKeep } from "./stored.ts";

const OWN_KEY = 0;
const ENDPOINT = 1;
const NOT_READY = 2;
const PAUSED = 3;
const TRIED = 4;
const LIMITED = 5;
const BENCHED = 6;
const ELIGIBLE = 7;

/** Walks the candidates of a group once. */
export function filterGroup(input: DecideInput, group: Group, elsewhere: readonly string[]): Filtered {
  const { deployments, policy } = group;
  const heeds = benchesAtAll(policy.bench);
  const ramps = (policy.bench.ramp?.length ?? 0) > 0;
  let eligible = 0;
  let candidates = 0;
  let furthest = -1;
  let soonest = -1;
  let soonestUntil = Number.POSITIVE_INFINITY;
  let heldBack = 0;
  let probeable = 0;
  for (let index = 0; index < deployments.length; index += 1) {
    const deployment = deployments[index];
    if (deployment === undefined) break;
    let stage = stageBeforeBench(input, group, policy, deployment, elsewhere);
    if (stage >= TRIED) candidates += 1;
    if (stage === BENCHED) {
      const until = benchedUntil(input.health, group.key, heeds, deployment.scopes);
      if (until <= input.now) {
        stage = ELIGIBLE;
        if (ramps && isHeldBack(input, group, deployment, index)) heldBack |= 1 << index;
        else eligible |= 1 << index;
      } else {
        if (probesOf(input, group, deployment).length > 0) probeable |= 1 << index;
        if (until < soonestUntil) {
          soonest = index;
          soonestUntil = until;
        }
      }
    }
    if (stage > furthest) furthest = stage;
  }
  const stage = STAGES[furthest] ?? "paused";
  // A ramp holds traffic back for others to take; it never refuses what nobody else can take.
  if (eligible === 0)
    return { eligible: heldBack, candidates, stage, soonest, soonestUntil, heldBack: 0, probeable };
  return { eligible, candidates, stage, soonest, soonestUntil, heldBack, probeable };
}

/** B4: scope keys of the benches that a probe of this deployment would probe; empty where none may be made now. */
export function probesOf(input: DecideInput, group: Group, deployment: Deployment): readonly string[] {
  const { health, load, now, request, router } = input;
  const { bench } = group.policy;
  // What comes of a caller's own key says nothing about ours (E9), and a request that failed once has had its trouble.
  if (bench.probeShare <= 0 || router === undefined || request.facts.ownKeyProvider !== undefined)
    return NOWHERE;
  // A conversation that is bound to an account is not for trying out another (BH-31).
  if (request.facts.originProvider !== undefined) return NOWHERE;
  if (input.history.attempts.length > 0) return NOWHERE;
  const keys = probeKeys(health, group.key, benchesAtAll(bench), deployment.scopes, router, now);
  for (const key of keys) if ((load.probes?.get(key)?.until ?? 0) > now) return NOWHERE;
  return keys;
}

/** `bench.ramp`: the share of a deployment whose traffic is returning; 1 for all others. */
export function rampShareOf(input: DecideInput, group: Group, deployment: Deployment): number {
  const { bench } = group.policy;
  if (bench.ramp === undefined || bench.ramp.length === 0) return 1;
  return rampShare(input.health, group.key, benchesAtAll(bench), deployment.scopes, bench.ramp, input.now);
}

function isHeldBack(input: DecideInput, group: Group, deployment: Deployment, index: number): boolean {
  const share = rampShareOf(input, group, deployment);
  return share < 1 && draw(input.seed, "ramp", index) >= share;
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

/** Whether a deployment that was tried may be called again (E1): ready, not paused, not benched, not at its limit. */
export function isReusable(input: DecideInput, group: Group, deployment: Deployment): boolean {
  const stage = stageBeforeBench(input, group, group.policy, deployment, NOWHERE);
  return stage >= TRIED && !isAtLimit(input, deployment) && !isBenched(input, group, deployment);
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
  if (!serves(deployment, policy, input) || !mayKeep(group, deployment, facts)) return ENDPOINT;
  // A caller's own key stands in for the credential that is missing (E9).
  if (ownKey === undefined && input.load.notReady.has(deployment.provider)) return NOT_READY;
  if (deployment.paused) return PAUSED;
  // Weight 0 is as good as paused under A, whatever became of the deployments that have a weight (R6).
  if (deployment.weight === 0 && policy.strategy === "weighted" && policy.zeroWeight === "off") return PAUSED;
  if (wasTried(input.history.attempts, group.key, deployment, elsewhere)) return TRIED;
  return isAtLimit(input, deployment) ? LIMITED : BENCHED;
}

/**
 * S5: at the account's own limit for this minute, or with less left of it than this request may use. A request that
 * is larger than the whole limit is let through when nothing else was used. A caller's own key has limits of its own.
 */
function isAtLimit(input: DecideInput, deployment: Deployment): boolean {
  const { limits } = deployment;
  if (limits === undefined || input.request.facts.ownKeyProvider !== undefined) return false;
  const load = input.load.deployments?.get(deployment.scopes.model);
  if (load === undefined) return false;
  const { rpm, tpm } = limits;
  if (rpm !== undefined && requestsThisMinute(load, input.now) >= rpm) return true;
  if (tpm === undefined) return false;
  const used = tokensThisMinute(load, input.now);
  return used >= tpm || (used > 0 && used + expectedTokens(input.request.facts) > tpm);
}

/** R4 and R5. */
function serves(deployment: Deployment, policy: Policy, input: DecideInput): boolean {
  const { endpoint } = input.request.facts;
  if (deployment.type !== undefined && deployment.type !== typeOfEndpoint(endpoint)) return false;
  if (endpoint === "native") return servesNative(input, deployment);
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
