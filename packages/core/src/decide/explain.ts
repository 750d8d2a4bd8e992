import { rendezvousScore } from "../affinity/rendezvous.ts";
import type { FailedAttempt, FallbackKind, History } from "../domain/attempt.ts";
import type { Group } from "../domain/config-snapshot.ts";
import type { Decision } from "../domain/decision.ts";
import type { CandidateExplanation, Explanation, GroupExplanation } from "../domain/explanation.ts";
import { HISTORY_SAMPLES } from "../domain/load-readings.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { NextStep } from "../escalation/next-step.ts";
import { strategyRule } from "../strategies/registry.ts";
import { benchEnd, rampShareOf, stageOf } from "./filter.ts";
import type { DecideInput } from "./input.ts";
import { affinityOf, choiceOf, lastTriedIn, placeKey } from "./place.ts";
import type { Blocked, Filtered, Stage } from "./stages.ts";

/** Collects why a decision came out as it did (R8). Only made when asked for: it costs more than the decision. */
export interface Trail {
  /** What escalation made of the last attempt. */
  step(step: NextStep, last: FailedAttempt): void;
  hop(group: string, kind: FallbackKind): void;
  /** The retry budget of a group is spent. */
  spent(group: string): void;
  /** A group was looked through; `chosen` is an index, -1 for none; `probed` where it probes a bench (B4). */
  group(
    group: Group,
    history: History,
    found: Filtered,
    elsewhere: readonly string[],
    chosen: number,
    draw: number | undefined,
    probed?: boolean,
  ): void;
  finish(decision: Decision): Explanation;
}

const RULE_OF: Readonly<Record<Exclude<Blocked, "benched">, string>> = {
  own_key: "E9 another provider than the caller's own key",
  endpoint: "R5 does not serve the endpoint",
  not_ready: "R10 provider not ready",
  paused: "R6 paused or of weight 0",
  tried: "R1 already tried",
  limited: "S5 at its own limit this minute",
};

const EXPLORED = `S4 explored: fewer than ${HISTORY_SAMPLES} measured requests`;

/** An empty trail. */
export function createTrail(input: DecideInput): Trail {
  const groups: GroupExplanation[] = [];
  const steps: { rule: string; text: string }[] = [];
  return {
    step: (step, last) => steps.push(describe(step, last)),
    hop: (group, kind) => steps.push({ rule: "G1", text: `hop to ${group} (${kind})` }),
    spent: (group) =>
      steps.push({ rule: "retry.budget", text: `the retry budget of ${group} is spent: no further call` }),
    group: (group, history, found, elsewhere, chosen, drawn, probed = false) =>
      groups.push(explainGroup(input, group, history, found, elsewhere, chosen, drawn, probed)),
    finish(decision) {
      steps.push(conclude(decision));
      return {
        decision: input.decisionId,
        configRevision: input.config.revision,
        healthVersion: input.health.version,
        seed: input.seed,
        groups,
        steps,
      };
    },
  };
}

function explainGroup(
  input: DecideInput,
  group: Group,
  history: History,
  found: Filtered,
  elsewhere: readonly string[],
  chosen: number,
  drawn: number | undefined,
  probed: boolean,
): GroupExplanation {
  const { strategy } = group.policy;
  const rule = strategyRule(strategy);
  const last = lastTriedIn(group, history);
  const place = last < 0 ? placeKey(input, group, found.eligible, rule) : undefined;
  const choice = choiceOf(input, group, history, found.eligible, last, place);
  const hash = affinityOf(input, group);
  const scoreOf = (index: number): number | undefined => {
    const score =
      hash === undefined ? rule.score(choice, index) : rendezvousScore(group.deployments, index, hash);
    // Where nothing is known of a deployment there is no score to show.
    return Number.isFinite(score) ? score : undefined;
  };
  const candidates = group.deployments.map((deployment, index): CandidateExplanation => {
    const stage = stageOf(input, group, deployment, elsewhere);
    const isChosen = index === chosen;
    const common = { deployment: deployment.id, verdict: isChosen ? "chosen" : "filtered" } as const;
    if (stage === "eligible" && (found.heldBack & (1 << index)) !== 0) {
      const percent = 100 * rampShareOf(input, group, deployment);
      return { ...common, rule: `bench.ramp at ${percent} % of its traffic`, score: undefined };
    }
    if (stage === "eligible") {
      const verdict = isChosen ? "chosen" : "eligible";
      const explored = isChosen && hash === undefined && rule.explores?.(choice) === true;
      return { ...common, verdict, rule: explored ? EXPLORED : undefined, score: scoreOf(index) };
    }
    const until = benchEnd(input, group, deployment);
    return { ...common, rule: ruleOf(stage, isChosen, probed, until), score: undefined };
  });
  const affinity = hash === undefined ? undefined : { affinity: group.policy.affinity?.by };
  return { group: group.key, strategy, ...affinity, draw: drawn, candidates };
}

function ruleOf(stage: Stage, isChosen: boolean, probed: boolean, until: EpochMs): string | undefined {
  if (stage === "eligible") return undefined;
  if (stage === "benched") {
    if (!isChosen) return `R7 benched until ${until}`;
    return `${probed ? "B4 probed" : "R7 last resort"}, benched until ${until}`;
  }
  return isChosen ? "E1 same deployment again" : RULE_OF[stage];
}

function describe(step: NextStep, last: FailedAttempt): { rule: string; text: string } {
  const after = `after ${last.error} at ${last.deployment}`;
  switch (step.kind) {
    case "again":
      return { rule: "E1", text: `same deployment again in ${step.delayMs} ms ${after}` };
    case "next":
      return { rule: "E3", text: `next deployment ${after}` };
    case "hop":
      return { rule: "G4", text: `${step.fallback} fallback, if there is one, ${after}` };
    default:
      return { rule: step.why === "timed_out" ? "E8" : "E1", text: `stop: ${step.why} ${after}` };
  }
}

function conclude(decision: Decision): { rule: string; text: string } {
  return decision.kind === "attempt"
    ? { rule: "R1", text: `attempt ${decision.deployment.id} of ${decision.group.key}` }
    : { rule: decision.exhausted ? "E7" : "R1", text: `refuse ${decision.status} ${decision.code}` };
}
