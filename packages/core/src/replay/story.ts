import { verdictOf } from "../domain/error-class.ts";
import type { DecisionLine, OutcomeLine, TakenAttempt } from "./line.ts";
import { asFailure, failureOf, type Failure } from "./observed.ts";

/** An attempt of the log and how it ended. */
export interface RecordedCall {
  readonly taken: TakenAttempt;
  /** Undefined = well, as far as the log knows. */
  readonly failure: Failure | undefined;
}

/** What a log tells of one request. */
export class Story {
  readonly first: DecisionLine;
  /** Its decisions in their order, `first` among them. */
  readonly decisions: DecisionLine[];
  readonly #outcomes = new Map<string, OutcomeLine>();
  #hedged = false;

  constructor(first: DecisionLine) {
    this.first = first;
    this.decisions = [first];
  }

  decided(line: DecisionLine): void {
    this.decisions.push(line);
  }

  /**
   * A second attempt was asked for beside one that ran. It is not replayed: which of two is faster under another config
   * nobody knows. The one that was cut short would have answered, only later.
   */
  hedged(): void {
    this.#hedged = true;
  }

  ended(line: OutcomeLine): void {
    if (this.#hedged && line.error === "cancelled") return;
    const known = this.#outcomes.get(line.decision);
    // An attempt's end and its usage come apart.
    const usage = line.usage ?? known?.usage;
    const first = known ?? line;
    this.#outcomes.set(line.decision, { ...first, error: first.error ?? line.error, usage });
  }

  /** Its calls in their order, each with its end. */
  calls(): RecordedCall[] {
    return this.decisions.flatMap((line, index): RecordedCall[] => {
      if (line.taken.kind !== "attempt") return [];
      return [{ taken: line.taken, failure: this.#failureOf(line, this.decisions[index + 1]) }];
    });
  }

  /** Tokens that the request is known to have used; undefined where nobody told. */
  usage(): OutcomeLine["usage"] {
    for (const { usage } of this.#outcomes.values()) if (usage !== undefined) return usage;
    return undefined;
  }

  #failureOf(line: DecisionLine, next: DecisionLine | undefined): Failure | undefined {
    const told = next?.history.attempts.find(({ decision }) => decision === line.id);
    if (told !== undefined) return asFailure(told);
    const outcome = this.#outcomes.get(line.id);
    return outcome && failureOf(outcome);
  }
}

/**
 * The failure that is the request's own, such as a mistake in it or its caller's leaving: it would have ended like that
 * anywhere. Undefined where there was none.
 */
export function ownFailure(calls: readonly RecordedCall[]): Failure | undefined {
  return calls.find(
    ({ failure }) =>
      failure !== undefined && failure.error !== "not_ready" && verdictOf(failure.error) === "ignored",
  )?.failure;
}
