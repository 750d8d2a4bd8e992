import type { History } from "../domain/attempt.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { Effect } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import { draw } from "../domain/random.ts";
import { heaviest } from "../strategies/by-weight.ts";
import { strategyRule } from "../strategies/registry.ts";
import type { Choice } from "../strategies/strategy.ts";
import type { DecideInput } from "./input.ts";

/** Which deployment of a group's eligible ones comes next, and which would come after it. */
export interface Placed {
  readonly index: number;
  /** H4: the id of the deployment that would follow; undefined when none is left. */
  readonly next: string | undefined;
  /** The draw that chose, where one did. */
  readonly draw: number | undefined;
  readonly effect: Effect | undefined;
}

/** S1, S2: the strategy on the first pick in a group, then by weight or by the strategy again. */
export function placeIn(input: DecideInput, group: Group, history: History, eligible: number): Placed {
  const { deployments, policy } = group;
  const last = lastTriedIn(group, history);
  if (last >= 0 && policy.failover.order === "weight") {
    const index = heaviest(deployments, eligible);
    return {
      index,
      next: nextAfter(input, group, history, eligible, index),
      draw: undefined,
      effect: undefined,
    };
  }
  const rule = strategyRule(policy.strategy);
  const place = rule.keepsPlace && last < 0 ? placeKey(input, group, eligible) : undefined;
  const choice = choiceOf(input, group, history, eligible, last, place);
  const index = rule.pick(choice);
  return {
    index,
    next: nextAfter(input, group, history, eligible, index),
    draw: choice.draw,
    effect: place === undefined ? undefined : advance(place, choice, index),
  };
}

/** H4: who would follow `index`, by the same order and the same seed. */
export function nextAfter(
  input: DecideInput,
  group: Group,
  history: History,
  eligible: number,
  index: number,
): string | undefined {
  const rest = eligible & ~(1 << index);
  if (rest === 0) return undefined;
  const { policy, deployments } = group;
  if (policy.failover.order === "weight") return deployments[heaviest(deployments, rest)]?.id;
  const attempts = history.attempts.length + 1;
  const choice: Choice = {
    deployments,
    eligible: rest,
    draw: draw(input.seed, "pick", attempts),
    last: index,
    place: undefined,
  };
  return deployments[strategyRule(policy.strategy).pick(choice)]?.id;
}

/** What a strategy sees of a group at this point of a request. */
export function choiceOf(
  input: DecideInput,
  group: Group,
  history: History,
  eligible: number,
  last: number,
  place: string | undefined,
): Choice {
  return {
    deployments: group.deployments,
    eligible,
    draw: draw(input.seed, "pick", history.attempts.length),
    last,
    place: place === undefined ? undefined : input.load.places.get(place),
  };
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

function indexOf(deployments: readonly Deployment[], id: string): number {
  for (let index = 0; index < deployments.length; index += 1) {
    if (deployments[index]?.id === id) return index;
  }
  return -1;
}

/** S6: each key has its own place per group and eligible set. */
function placeKey(input: DecideInput, group: Group, eligible: number): string {
  return `${input.request.key?.name ?? ""}|${group.key}|${(eligible >>> 0).toString(36)}`;
}

/** A place that was not kept yet starts from where the draw fell. */
function advance(place: string, choice: Choice, index: number): Effect {
  return { kind: "place", place, value: (choice.place ?? rankOf(choice.eligible, index)) + 1 };
}

function rankOf(eligible: number, index: number): number {
  let rank = 0;
  for (let bit = 0; bit < index; bit += 1) if ((eligible & (1 << bit)) !== 0) rank += 1;
  return rank;
}
