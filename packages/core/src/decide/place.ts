import { affinityHash } from "../affinity/key-hash.ts";
import { highestScore } from "../affinity/rendezvous.ts";
import type { AffinityKind } from "../domain/affinity.ts";
import type { History } from "../domain/attempt.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { Effect } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import { draw, type Stream } from "../domain/random.ts";
import { heaviest } from "../strategies/by-weight.ts";
import { startOf } from "../strategies/measured.ts";
import { strategyRule } from "../strategies/registry.ts";
import type { Choice, StrategyRule } from "../strategies/strategy.ts";
import type { DecideInput } from "./input.ts";

/** Which deployment of a group's eligible ones comes next, and which would come after it. */
export interface Placed {
  readonly index: number;
  /** H4: the id of the deployment that would follow; undefined when none is left. */
  readonly next: string | undefined;
  /** The draw that chose, where one did. */
  readonly draw: number | undefined;
  readonly effect: Effect | undefined;
  /** H4: what the key was made of that places this request in this group. */
  readonly affinity: AffinityKind | undefined;
}

/** What a pick alone says. */
export type Picked = Pick<Placed, "index" | "draw" | "effect">;

/** S1, S2, F2: affinity or the strategy on the first pick in a group, then by weight or by the same again. */
export function placeIn(input: DecideInput, group: Group, history: History, eligible: number): Placed {
  const { deployments, policy } = group;
  const hash = affinityOf(input, group);
  const last = lastTriedIn(group, history);
  const byWeight = last >= 0 && policy.failover.order === "weight";
  const picked = byWeight
    ? { index: heaviest(deployments, eligible), draw: undefined, effect: undefined }
    : pick(input, group, history, eligible, last, hash, "pick");
  return {
    ...picked,
    next: nextAfter(input, group, history, eligible, picked.index, hash),
    affinity: hash === undefined ? undefined : kindOf(group),
  };
}

/** Affinity's pick where there is a key, else the strategy's. */
export function pick(
  input: DecideInput,
  group: Group,
  history: History,
  eligible: number,
  last: number,
  hash: number | undefined,
  stream: Stream,
): Picked {
  if (hash !== undefined) {
    return { index: highestScore(group.deployments, eligible, hash), draw: undefined, effect: undefined };
  }
  const rule = strategyRule(group.policy.strategy);
  const place = last < 0 ? placeKey(input, group, eligible, rule) : undefined;
  const choice = choiceOf(input, group, history, eligible, last, place, stream);
  const index = rule.pick(choice);
  const effect = place === undefined ? undefined : advance(place, choice, index, rule);
  return { index, draw: choice.draw, effect };
}

/** H4: who would follow `index`, by the same order and the same seed. */
export function nextAfter(
  input: DecideInput,
  group: Group,
  history: History,
  eligible: number,
  index: number,
  hash: number | undefined,
): string | undefined {
  const rest = eligible & ~(1 << index);
  if (rest === 0) return undefined;
  const { policy, deployments } = group;
  if (policy.failover.order === "weight") return deployments[heaviest(deployments, rest)]?.id;
  if (hash !== undefined) return deployments[highestScore(deployments, rest, hash)]?.id;
  const choice: Choice = {
    deployments,
    eligible: rest,
    draw: draw(input.seed, "pick", history.attempts.length + 1),
    last: index,
    place: undefined,
    loads: input.load.deployments,
    facts: input.request.facts,
    now: input.now,
  };
  return deployments[strategyRule(policy.strategy).pick(choice)]?.id;
}

/** What a strategy sees of a group at this point of a request; `place` is the key of its counter. */
export function choiceOf(
  input: DecideInput,
  group: Group,
  history: History,
  eligible: number,
  last: number,
  place: string | undefined,
  stream: Stream = "pick",
): Choice {
  return {
    deployments: group.deployments,
    eligible,
    draw: draw(input.seed, stream, history.attempts.length),
    last,
    place: place === undefined ? undefined : input.load.places.get(place),
    loads: input.load.deployments,
    facts: input.request.facts,
    now: input.now,
  };
}

/** The hash that places a request in a group; undefined where the strategy does. Nobody known is no one caller. */
export function affinityOf(input: DecideInput, group: Group): number | undefined {
  const { affinity } = group.policy;
  if (affinity === undefined || affinity.by === "none") return undefined;
  const { facts, key } = input.request;
  return affinityHash(affinity, facts.affinity, key === input.config.openKey ? undefined : key);
}

/** Index of the deployment of this group that was tried last; -1 before the first pick there. */
export function lastTriedIn(group: Group, history: History): number {
  const { attempts } = history;
  for (let at = attempts.length - 1; at >= 0; at -= 1) {
    const attempt = attempts[at];
    if (attempt?.group === group.key) return indexOf(group.deployments, attempt.deployment);
  }
  return -1;
}

function kindOf(group: Group): AffinityKind | undefined {
  const by = group.policy.affinity?.by;
  return by === "none" ? undefined : by;
}

function indexOf(deployments: readonly Deployment[], id: string): number {
  for (let index = 0; index < deployments.length; index += 1) {
    if (deployments[index]?.id === id) return index;
  }
  return -1;
}

/** S6: each key has its own turn per group and eligible set. S4, S7: a group has one count. */
export function placeKey(
  input: DecideInput,
  group: Group,
  eligible: number,
  rule: StrategyRule,
): string | undefined {
  switch (rule.keeps) {
    case "nothing":
      return undefined;
    case "turn":
      return `${input.request.key?.name ?? ""}|${group.key}|${(eligible >>> 0).toString(36)}`;
    case "count":
      return `count|${group.key}`;
  }
}

/** A place that was not kept yet starts from where the draw fell. */
function advance(place: string, choice: Choice, index: number, rule: StrategyRule): Effect {
  const start = rule.keeps === "count" ? startOf(choice.draw) : rankOf(choice.eligible, index);
  return { kind: "place", place, value: (choice.place ?? start) + 1 };
}

function rankOf(eligible: number, index: number): number {
  let rank = 0;
  for (let bit = 0; bit < index; bit += 1) if ((eligible & (1 << bit)) !== 0) rank += 1;
  return rank;
}
