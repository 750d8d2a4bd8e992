/** From a decision to its line of the log: plain data whose JSON `parseLine` reads back bit for bit. */
import type { BenchEntry } from "../domain/bench.ts";
import type { Decided } from "../domain/decision.ts";
import { hashKey } from "../domain/hash-key.ts";
import type { LoadSnapshot } from "../domain/load.ts";
import type { DecideInput } from "../decide/input.ts";
import type { FailedAttempt, History } from "../domain/attempt.ts";
import type { RequestFacts } from "../domain/request-facts.ts";
import { recordLoad } from "../load/ledger.ts";
import { concernOf } from "./concern.ts";
import type { DroppedLine, LoggedCaller, OutcomeLine, Taken } from "./line.ts";

/** The line of one decision as JSON; to be called before its effects are applied. */
export function recordDecision(input: DecideInput, decided: Decided): string {
  const { config, request, now, seed, router } = input;
  const concern = concernOf(config, decided.history.asked);
  const places = decided.effects.flatMap((effect) => (effect.kind === "place" ? [effect.place] : []));
  return JSON.stringify({
    kind: "decision",
    id: input.decisionId,
    router,
    now,
    seed,
    config: { revision: config.revision, hash: config.hash },
    caller: callerOf(input),
    facts: plainFacts(request.facts),
    history: plainHistory(input.history),
    running: input.running,
    health: { version: input.health.version, benches: benchesAt(input, concern.scopes) },
    load: plainLoad(recordLoad(input.load, { ...concern, places })),
    taken: takenOf(decided),
    check: digestOf(decided),
  });
}

/** The line of an attempt's end as JSON. */
export function recordOutcome(outcome: Pick<OutcomeLine, "decision"> & Partial<OutcomeLine>): string {
  return JSON.stringify({ ...outcome, kind: "outcome", retryAfterMs: finite(outcome.retryAfterMs) });
}

/** The line that stands for lines which could not be written. */
export function recordDropped(lines: number): string {
  return JSON.stringify({ kind: "dropped", lines } satisfies DroppedLine);
}

/** What a log keeps of an answer in plain sight. */
export function takenOf({ decision, history }: Decided): Taken {
  const { asked } = history;
  if (decision.kind === "refuse") {
    const { kind, status, code, exhausted } = decision;
    return { kind, asked, status, code, exhausted };
  }
  const { kind, group, deployment, step, delayMs } = decision;
  const { id, price, scopes } = deployment;
  return { kind, asked, group: group.key, deployment: id, load: scopes.model, price, step, delayMs };
}

/** A hash of everything that a decision answers: two that have it in common are the same bit for bit. */
export function digestOf({ decision, effects, history, lastOutcome }: Decided): number {
  const plain =
    decision.kind === "attempt"
      ? { ...decision, group: decision.group.key, deployment: decision.deployment.id }
      : { ...decision, group: decision.group?.key };
  return hashKey(JSON.stringify([plain, effects, plainHistory(history), lastOutcome]));
}

function callerOf({ request, config }: DecideInput): LoggedCaller | undefined {
  const { key } = request;
  return key && { project: key.project, name: key.name, open: key === config.openKey };
}

function plainFacts(facts: RequestFacts): object {
  const { affinity } = facts;
  if (affinity === undefined) return facts;
  const expressions = affinity.expressions && [...affinity.expressions];
  return { ...facts, affinity: { ...affinity, expressions } };
}

function plainHistory({
  asked,
  hops,
  attempts,
  lastResorts,
  hedged,
}: History): Record<keyof History, unknown> {
  return {
    asked,
    hops: hops.map(({ group, kind }) => ({ group, kind })),
    attempts: attempts.map(plainAttempt),
    lastResorts,
    hedged,
  };
}

function plainAttempt(attempt: FailedAttempt): Record<keyof FailedAttempt, unknown> {
  const { decision, group, deployment, error, status, retryAfterMs, startedAt, endedAt } = attempt;
  const ended = { error, status, retryAfterMs: finite(retryAfterMs) };
  return { decision, group, deployment, ...ended, startedAt, endedAt };
}

function benchesAt({ health }: DecideInput, scopes: readonly string[]): [string, BenchEntry][] {
  if (health.benches.size === 0) return [];
  return scopes.flatMap((key): [string, BenchEntry][] => {
    const entry = health.benches.get(key);
    return entry === undefined ? [] : [[key, entry]];
  });
}

function plainLoad({
  notReady,
  places,
  deployments,
  probes,
  budgets,
  routers,
  probers,
}: LoadSnapshot): Record<keyof LoadSnapshot, unknown> {
  return {
    notReady: [...notReady],
    places: [...places],
    deployments: [...(deployments ?? [])],
    probes: [...(probes ?? [])],
    budgets: [...(budgets ?? [])],
    routers,
    probers: [...(probers ?? [])],
  };
}

/** JSON has no word for what is not finite; {@link OutcomeLine.retryAfterMs} that is no wait at all may be. */
function finite(value: number | undefined): number | string | undefined {
  return value === undefined || Number.isFinite(value) ? value : String(value);
}
