import type { History, RunningAttempt } from "../domain/attempt.ts";
import type { HealthSnapshot } from "../domain/bench.ts";
import type { AttemptDecision, RefusalCode } from "../domain/decision.ts";
import type { Price } from "../domain/deployment.ts";
import type { ErrorClass } from "../domain/error-class.ts";
import type { LoadSnapshot } from "../domain/load.ts";
import type { EpochMs } from "../domain/ports.ts";
import type { RequestFacts } from "../domain/request-facts.ts";
import type { TokenCounts } from "../domain/token-cost.ts";

/** One line of a decision log: a decision with its inputs, how an attempt ended, or lines that are missing. */
export type LogLine = DecisionLine | OutcomeLine | DroppedLine;

/**
 * A decision and all that it went by but the config, cut down to what it can have read (invariant 1). No prompt, no
 * secret; of affinity keys only their hashes (F7).
 */
export interface DecisionLine {
  readonly kind: "decision";
  /** Of this decision; outcomes quote it. */
  readonly id: string;
  /** Who decided; undefined for a caller that has no name. */
  readonly router: string | undefined;
  readonly now: EpochMs;
  readonly seed: number;
  /** The config that it was decided on. */
  readonly config: { readonly revision: number; readonly hash: string };
  /** Undefined where no key was given or it was unknown. */
  readonly caller: LoggedCaller | undefined;
  readonly facts: RequestFacts;
  readonly history: History;
  /** Hedging: the attempt beside which another was asked for; undefined for all other decisions. */
  readonly running: RunningAttempt | undefined;
  readonly health: HealthSnapshot;
  readonly load: LoadSnapshot;
  readonly taken: Taken;
  /** Hash of the whole answer, effects included, see `digestOf`. */
  readonly check: number;
}

/** Who called, without the secret. */
export interface LoggedCaller {
  readonly project: string;
  readonly name: string;
  /** Nobody's own key, but everybody's under open access. */
  readonly open: boolean;
}

/** What was decided. */
export type Taken = TakenAttempt | TakenRefusal;

/** An attempt as a log keeps it. */
export interface TakenAttempt {
  readonly kind: "attempt";
  /** Key of the group asked for. */
  readonly asked: string | undefined;
  /** Key of the group that serves. */
  readonly group: string;
  readonly deployment: string;
  /** Key of its load, `DeploymentScopes.model`. */
  readonly load: string;
  readonly price: Price | undefined;
  readonly step: AttemptDecision["step"];
  readonly delayMs: number;
}

/** A refusal as a log keeps it. */
export interface TakenRefusal {
  readonly kind: "refuse";
  readonly asked: string | undefined;
  readonly status: number;
  readonly code: RefusalCode;
  readonly exhausted: boolean;
}

/** How an attempt ended, as far as its router heard. Without `error` it went well. */
export interface OutcomeLine {
  readonly kind: "outcome";
  /** Id of the decision that asked for the attempt. */
  readonly decision: string;
  readonly error: ErrorClass | undefined;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** From the decision to the end, ms. */
  readonly ms: number | undefined;
  readonly usage: TokenCounts | undefined;
  /** USD. */
  readonly costUsd: number | undefined;
}

/** So many lines before this one were not written. */
export interface DroppedLine {
  readonly kind: "dropped";
  readonly lines: number;
}
