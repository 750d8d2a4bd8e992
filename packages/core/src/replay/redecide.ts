import { groupKey, type CallerKey, type ConfigSnapshot } from "../domain/config-snapshot.ts";
import { decide } from "../decide/decide.ts";
import type { DecideInput } from "../decide/input.ts";
import type { DecisionLine, LoggedCaller, Taken } from "./line.ts";
import { digestOf, takenOf } from "./record.ts";

/** The caller of a line as a config knows it; undefined where it knows no such key and access is not open. */
export type CallerLookup = (caller: LoggedCaller | undefined) => CallerKey | undefined;

/** {@link CallerLookup} over a config. To be made once for each. */
export function callerLookup(config: ConfigSnapshot): CallerLookup {
  const keys = new Map([...config.keys.values()].map((key) => [groupKey(key.project, key.name), key]));
  return (caller) =>
    (caller === undefined || caller.open ? undefined : keys.get(groupKey(caller.project, caller.name))) ??
    config.openKey;
}

/** The inputs of a recorded decision, on another config or the same. */
export function inputOf(line: DecisionLine, config: ConfigSnapshot, callers: CallerLookup): DecideInput {
  return {
    config,
    health: line.health,
    load: line.load,
    request: { facts: line.facts, key: callers(line.caller) },
    history: line.history,
    running: line.running,
    now: line.now,
    seed: line.seed,
    decisionId: line.id,
    router: line.router,
    explain: false,
  };
}

/** How a decision that is made again compares with the recorded one. */
export type Verified =
  | { readonly kind: "same" }
  | { readonly kind: "differs"; readonly recorded: string; readonly now: string }
  /** It was made on another config, so that nothing can be said. */
  | { readonly kind: "other_config" };

/** Invariant 1: makes a recorded decision again, on the config that it was made on. */
export function verifyDecision(line: DecisionLine, config: ConfigSnapshot, callers: CallerLookup): Verified {
  if (line.config.hash !== config.hash) return { kind: "other_config" };
  // The revision of a file is not that of the store, and it is in no answer.
  const decided = decide(inputOf(line, config, callers));
  if (digestOf(decided) === line.check) return { kind: "same" };
  const [recorded, now] = [inWords(line.taken), inWords(takenOf(decided))];
  return { kind: "differs", recorded, now: recorded === now ? `${now}, but for its times or effects` : now };
}

function inWords(taken: Taken): string {
  return taken.kind === "attempt"
    ? `${taken.step}: ${taken.deployment} of ${taken.group}`
    : `refuse: ${taken.status} ${taken.code}`;
}
