import type { Group } from "../domain/config-snapshot.ts";
import type { History } from "../domain/attempt.ts";
import type { Effect } from "../domain/decision.ts";
import type { DeploymentScopes } from "../domain/deployment.ts";
import type { LoadSnapshot } from "../domain/load.ts";
import { probesOf } from "./filter.ts";
import type { DecideInput } from "./input.ts";
import { affinityOf, lastTriedIn, pick } from "./place.ts";
import type { Filtered } from "./stages.ts";

/** B4: what is to happen to a request that might probe a bench. */
export interface ProbeTurn {
  /** Counters that move on, whether or not it probes. */
  readonly effects: readonly Effect[];
  /** The deployment to probe; -1 = none, this request goes on as if there were no probes. */
  readonly index: number;
  /** Scope keys of the benches that are probed. */
  readonly keys: readonly string[];
}

/** A share is added up request by request; what a sum of such fractions may miss of 1. */
const ROUNDING = 1e-9;

/**
 * B4: about `probe_share` of the requests that would have gone to a benched deployment probe it: whether one would
 * have gone there is asked of the strategy with a draw of its own, and those that would are counted, not drawn.
 * Undefined where there is nothing to probe.
 */
export function probeTurn(
  input: DecideInput,
  group: Group,
  history: History,
  found: Filtered,
): ProbeTurn | undefined {
  if (found.probeable === 0) return undefined;
  const all = found.eligible | found.probeable;
  const hash = affinityOf(input, group);
  const would = pick(input, group, history, all, lastTriedIn(group, history), hash, "probe");
  const effects: Effect[] = would.effect === undefined ? [] : [would.effect];
  if ((found.probeable & (1 << would.index)) === 0) return { effects, index: -1, keys: [] };
  const deployment = group.deployments[would.index];
  if (deployment === undefined) return undefined;
  const place = `probe|${deployment.scopes.deployment}`;
  // Only this router may probe, so it probes for the traffic of all.
  const share = Math.min(1, group.policy.bench.probeShare * sharers(input.load, deployment.scopes));
  const sum = (input.load.places.get(place) ?? 0) + share;
  const due = sum >= 1 - ROUNDING;
  effects.push({ kind: "place", place, value: due ? Math.max(0, sum - 1) : sum });
  return due
    ? { effects, index: would.index, keys: probesOf(input, group, deployment) }
    : { effects, index: -1, keys: [] };
}

/** Routers whose traffic would have gone to a deployment: each is taken to have as much of it. */
function sharers({ routers, probers }: LoadSnapshot, scopes: DeploymentScopes): number {
  let most = 0;
  for (const key of [scopes.deployment, scopes.model, scopes.provider])
    most = Math.max(most, probers?.get(key) ?? 0);
  return Math.max(1, most === 0 ? (routers ?? 1) : most);
}
