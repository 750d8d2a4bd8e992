import type { History } from "../domain/attempt.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { AttemptDecision, Effect } from "../domain/decision.ts";
import type { Deployment } from "../domain/deployment.ts";
import type { RequestFacts } from "../domain/request-facts.ts";
import type { DecideInput } from "./input.ts";

/** Hedges that a quiet time saves up, at most. */
const MOST_SAVED = 10;
/** A share is added up request by request; what a sum of such fractions may miss of 1. */
const ROUNDING = 1e-9;

/**
 * Hedging: when to ask for a second attempt beside `attempt`, ms after its start; undefined for never. That is once its
 * deployment has been slower than in 19 of 20 answers, where another could take over and the time left allows for it.
 */
export function hedgeAfterMs(
  input: DecideInput,
  history: History,
  attempt: Pick<AttemptDecision, "group" | "deployment" | "step" | "next" | "timeoutMs" | "probe">,
): number | undefined {
  const { group, deployment, step, next, timeoutMs, probe } = attempt;
  if (group.policy.hedge === undefined || next === undefined || history.hedged === true) return undefined;
  if (probe || step === "hedge" || step === "last_resort") return undefined;
  const { facts } = input.request;
  if (!isRepeatable(facts)) return undefined;
  const p95 = slowMs(input, deployment, facts);
  if (p95 === undefined || (timeoutMs > 0 && p95 >= timeoutMs)) return undefined;
  return Math.max(1, Math.ceil(p95));
}

/** Each request of a group gives its share towards a hedge; nothing where the group does not hedge. */
export function hedgeShareOf(
  input: DecideInput,
  group: Group,
  step: AttemptDecision["step"],
): Effect | undefined {
  const { hedge } = group.policy;
  // A request comes to a group once, by a pick or a hop.
  if (hedge === undefined || step === "retry" || step === "failover" || step === "hedge") return undefined;
  return savedEffect(group, Math.min(MOST_SAVED, savedIn(input, group) + hedge.share));
}

/** Whether the group's requests have saved up a hedge. */
export function hasHedge(input: DecideInput, group: Group): boolean {
  return group.policy.hedge !== undefined && savedIn(input, group) >= 1 - ROUNDING;
}

/** A hedge is made: it is no longer saved up. */
export function hedgeTaken(input: DecideInput, group: Group): Effect {
  return savedEffect(group, Math.max(0, savedIn(input, group) - 1));
}

/**
 * Whether a request may run twice at a time: it leaves nothing behind at its provider, is bound to none, and its price is
 * ours to pay twice, not that of a caller's own key.
 */
export function isRepeatable(facts: RequestFacts): boolean {
  const { endpoint, store, storedResponse, ownKeyProvider, originProvider } = facts;
  if (storedResponse || store === true || ownKeyProvider !== undefined || originProvider !== undefined)
    return false;
  return endpoint !== "native" && endpoint !== "count_tokens";
}

function slowMs(input: DecideInput, deployment: Deployment, facts: RequestFacts): number | undefined {
  const load = input.load.deployments?.get(deployment.scopes.model);
  return facts.stream ? load?.streamP95Ms : load?.wholeP95Ms;
}

function savedKey(group: Group): string {
  return `hedge|${group.key}`;
}

function savedIn(input: DecideInput, group: Group): number {
  return input.load.places.get(savedKey(group)) ?? 0;
}

function savedEffect(group: Group, value: number): Effect {
  return { kind: "place", place: savedKey(group), value };
}
