import { appendAttempt, type History, type RunningAttempt } from "../domain/attempt.ts";
import { groupOf, type Group } from "../domain/config-snapshot.ts";
import type { Decided, Effect } from "../domain/decision.ts";
import { progressOf } from "../escalation/progress.ts";
import { timeLeftMs } from "../escalation/time.ts";
import { attemptAt, refuseWith } from "./answer.ts";
import { budgetOf } from "./budget.ts";
import type { Trail } from "./explain.ts";
import { filterGroup, triedElsewhere } from "./filter.ts";
import { hasHedge, hedgeTaken, isRepeatable } from "./hedge-share.ts";
import type { DecideInput } from "./input.ts";
import { placeIn } from "./place.ts";
import { refuseHedge } from "./refusals.ts";
import { mayCallAnother, type Run } from "./run.ts";

/**
 * Whether a second attempt is made beside the one that runs, and where: at the deployment that would come next if it had
 * failed. It is one call more, so it needs one of `max_attempts`, one of `max_deployments`, and of the retry budget.
 */
export function hedgeBeside(
  input: DecideInput,
  asked: Group,
  running: RunningAttempt,
  trail: Trail | undefined,
): Decided {
  const history: History =
    input.history.asked === undefined ? { ...input.history, asked: asked.key } : input.history;
  const ended = {
    error: "cancelled",
    status: undefined,
    retryAfterMs: undefined,
    endedAt: input.now,
  } as const;
  // What would be decided next, as if it were over.
  const beside = appendAttempt(history, { ...running, ...ended });
  const group = groupOf(input.config, running.group) ?? asked;
  const progress = progressOf(beside);
  const asIf: DecideInput = { ...input, history: beside };
  const leftMs = timeLeftMs(asked.policy, input.request.facts, input.now);
  const budget = budgetOf(asIf, asked, progress);
  const run: Run = { input: asIf, asked, progress, leftMs, budget, bench: undefined, trail };
  const may =
    hasHedge(input, group) &&
    history.hedged !== true &&
    budget.open &&
    isRepeatable(input.request.facts) &&
    mayCallAnother(run);
  if (!may) return refuseWith(run, refuseHedge(group), history);
  const elsewhere = triedElsewhere(input.config, beside, group);
  const found = filterGroup(asIf, group, elsewhere);
  if (found.eligible === 0) return refuseWith(run, refuseHedge(group), history);
  const placed = placeIn(asIf, group, beside, found.eligible);
  trail?.group(group, beside, found, elsewhere, placed.index, placed.draw);
  const effects: Effect[] = [hedgeTaken(input, group)];
  if (placed.effect !== undefined) effects.push(placed.effect);
  const hedged: History = { ...history, hedged: true };
  return attemptAt(run, hedged, { group, found, placed, step: "hedge", delayMs: 0, effects, probes: [] });
}
