import type { Deployment } from "../domain/deployment.ts";
import { HISTORY_SAMPLES } from "../domain/load-readings.ts";
import type { DeploymentLoad } from "../domain/load.ts";
import { countEligible, isEligible, nthEligible, type Choice, type StrategyRule } from "./strategy.ts";

/** S4: every how-manieth request explores. */
export const EXPLORE_EVERY = 10;

/** How a measured strategy ranks (S3, S5). */
export interface Measure {
  /** What is held against a deployment; the lowest is chosen. Infinity where nothing is known of it. */
  cost(choice: Choice, deployment: Deployment, load: DeploymentLoad | undefined): number;
  /** Costs up to this share above the lowest are as good as the lowest. */
  readonly band: number;
  /** Whether deployments without a history get a share of their own (S4). */
  readonly explores: boolean;
  /** Whether of equals the one with fewer calls in flight is chosen, before weight is looked at (S7). */
  readonly spreadsByLoad: boolean;
}

// A choice is over before the next one starts, so one place for what a group of 32 costs and has in flight is enough.
const costs = new Float64Array(32);
const inFlights = new Float64Array(32);

/**
 * A strategy that chooses the lowest of a measure. Weight only breaks ties and 0 stops no traffic (S3); equals of the
 * same weight take turns, so that neither the first in the list nor one of them by chance gets all (BH-09). What was
 * decided before is in the loads, so decisions of the same millisecond spread (S7).
 */
export function measured(measure: Measure): StrategyRule {
  return {
    keeps: "count",
    pick(choice: Choice): number {
      const unknown = explored(measure, choice);
      return unknown === 0 ? cheapest(measure, choice) : leastKnown(choice, unknown);
    },
    explores: (choice: Choice) => explored(measure, choice) !== 0,
    score(choice: Choice, index: number): number {
      const deployment = choice.deployments[index];
      return deployment === undefined
        ? Number.POSITIVE_INFINITY
        : measure.cost(choice, deployment, loadOf(choice, index));
    },
  };
}

function cheapest(measure: Measure, choice: Choice): number {
  const { deployments, eligible } = choice;
  let lowest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < deployments.length; index += 1) {
    const deployment = deployments[index];
    if (deployment === undefined || !isEligible(eligible, index)) continue;
    const load = loadOf(choice, index);
    const cost = measure.cost(choice, deployment, load);
    costs[index] = cost;
    inFlights[index] = measure.spreadsByLoad && load !== undefined ? load.inFlight : 0;
    if (cost < lowest) lowest = cost;
  }
  const bound = lowest * (1 + measure.band);
  let ties = 0;
  let fewest = Number.POSITIVE_INFINITY;
  let heaviest = -1;
  for (let index = 0; index < deployments.length; index += 1) {
    if (!isEligible(eligible, index) || (costs[index] as number) > bound) continue;
    const inFlight = inFlights[index] as number;
    const weight = deployments[index]?.weight ?? 0;
    if (inFlight > fewest || (inFlight === fewest && weight < heaviest)) continue;
    if (inFlight < fewest || weight > heaviest) ties = 0;
    fewest = inFlight;
    heaviest = weight;
    ties |= 1 << index;
  }
  return inTurn(choice, ties);
}

/** Of deployments without a history the one that is known least, calls under way counted in. */
function leastKnown(choice: Choice, unknown: number): number {
  let ties = 0;
  let fewest = Number.POSITIVE_INFINITY;
  for (let index = 0; index < choice.deployments.length; index += 1) {
    if (!isEligible(unknown, index)) continue;
    const load = loadOf(choice, index);
    const known = load === undefined ? 0 : load.samples + load.inFlight;
    if (known > fewest) continue;
    if (known < fewest) ties = 0;
    fewest = known;
    ties |= 1 << index;
  }
  // Every tenth count comes here: tens are the turns of those that are explored.
  return nthEligible(ties, Math.floor(turnOf(choice) / EXPLORE_EVERY) % countEligible(ties));
}

/** Deployments without a history, where it is their turn; else 0. */
function explored(measure: Measure, choice: Choice): number {
  if (!measure.explores || choice.last >= 0) return 0;
  if (turnOf(choice) % EXPLORE_EVERY !== EXPLORE_EVERY - 1) return 0;
  let unknown = 0;
  for (let index = 0; index < choice.deployments.length; index += 1) {
    if (!isEligible(choice.eligible, index)) continue;
    if ((loadOf(choice, index)?.samples ?? 0) < HISTORY_SAMPLES) unknown |= 1 << index;
  }
  return unknown;
}

function inTurn(choice: Choice, ties: number): number {
  return nthEligible(ties, turnOf(choice) % countEligible(ties));
}

/** The group's count, from a random start. */
function turnOf(choice: Choice): number {
  return choice.place ?? startOf(choice.draw);
}

/** Where a count begins that is not kept yet. */
export function startOf(draw: number): number {
  return Math.floor(draw * 0x10000);
}

function loadOf(choice: Choice, index: number): DeploymentLoad | undefined {
  const deployment = choice.deployments[index];
  return deployment === undefined ? undefined : choice.loads?.get(deployment.scopes.model);
}
