/** What would have become of recorded requests under another config: pure, and the same each time. */
import { appendAttempt, type History } from "../domain/attempt.ts";
import type { ConfigSnapshot } from "../domain/config-snapshot.ts";
import type { Decided } from "../domain/decision.ts";
import { decide } from "../decide/decide.ts";
import type { DecideInput } from "../decide/input.ts";
import { Knowledge } from "./knowledge.ts";
import type { DecisionLine, LogLine } from "./line.ts";
import type { Failure, Observed } from "./observed.ts";
import { takenOf } from "./record.ts";
import { callerLookup, inputOf, type CallerLookup } from "./redecide.ts";
import {
  ReportBuilder,
  type CallSource,
  type Ended,
  type ReplayedCall,
  type ReplayReport,
} from "./report.ts";
import { ownFailure, Story, type RecordedCall } from "./story.ts";

/** Requests whose further lines are waited for; what comes after so many newer ones is not theirs any more. */
const MAX_OPEN = 10_000;
/** No request goes on for ever, whatever a config says. */
const MAX_DECISIONS = 100;

/**
 * Replays a log, line by line, in bounded memory: each first decision is made again, and failovers are followed by how
 * the log's attempts ended, where it made the same call, else by how often that provider's model failed in it.
 */
export class Replay {
  readonly #config: ConfigSnapshot;
  readonly #observed: Observed;
  readonly #callers: CallerLookup;
  readonly #report: ReportBuilder;
  readonly #knowledge = new Knowledge();
  /** Those that may go on, in the order in which they began; what lies before `#closed` is over. */
  #open: (Story | undefined)[] = [];
  #closed = 0;
  /** By the ids of all their decisions. */
  readonly #byDecision = new Map<string, Story>();

  /** @param observed what a first pass over the same log has found */
  constructor(config: ConfigSnapshot, observed: Observed) {
    this.#config = config;
    this.#observed = observed;
    this.#callers = callerLookup(config);
    this.#report = new ReportBuilder(config);
  }

  /** Takes in the next line. */
  add(line: LogLine): void {
    switch (line.kind) {
      case "dropped":
        this.#report.dropped(line.lines);
        return;
      case "outcome":
        this.#byDecision.get(line.decision)?.ended(line);
        return;
      case "decision":
        this.#decided(line);
    }
  }

  /** What became of all requests of the log. Nothing can be added after it. */
  finish(): ReplayReport {
    while (this.#closed < this.#open.length) this.#closeOldest();
    return this.#report.finish();
  }

  #decided(line: DecisionLine): void {
    const root = line.history.attempts[0]?.decision ?? line.running?.decision;
    const story = root === undefined ? new Story(line) : this.#byDecision.get(root);
    this.#report.line(line, story === undefined);
    if (story === undefined) return;
    if (root === undefined) this.#open.push(story);
    else if (line.running !== undefined) story.hedged();
    else if (story.decisions.length < MAX_DECISIONS) story.decided(line);
    this.#byDecision.set(line.id, story);
    if (this.#open.length - this.#closed > MAX_OPEN) this.#closeOldest();
  }

  #closeOldest(): void {
    const story = this.#open[this.#closed];
    if (story === undefined) return;
    this.#open[this.#closed] = undefined;
    this.#closed += 1;
    if (this.#closed > MAX_OPEN) {
      this.#open = this.#open.slice(this.#closed);
      this.#closed = 0;
    }
    for (const decision of story.decisions) this.#byDecision.delete(decision.id);
    this.#tell(story);
  }

  #tell(story: Story): void {
    const calls = story.calls();
    const last = story.decisions.at(-1) as DecisionLine;
    const before: Ended = { calls, refusal: last.taken.kind === "refuse" ? last.taken : undefined };
    this.#report.request(story, before, this.#rerun(story, calls));
  }

  #rerun(story: Story, recorded: readonly RecordedCall[]): Ended<ReplayedCall> {
    const { first } = story;
    const own = ownFailure(recorded);
    const calls: ReplayedCall[] = [];
    const callsTo = new Map<string, number>();
    let input = inputOf(first, this.#config, this.#callers);
    this.#knowledge.learn(first);
    for (let index = 0; index < MAX_DECISIONS; index += 1) {
      const decided = this.#decide(input, first);
      const taken = takenOf(decided);
      if (taken.kind === "refuse") return { calls, refusal: taken };
      const nth = callsTo.get(taken.load) ?? 0;
      callsTo.set(taken.load, nth + 1);
      const known = recorded.filter((call) => call.taken.load === taken.load)[nth];
      const source: CallSource =
        known !== undefined
          ? "recorded"
          : own !== undefined
            ? "own"
            : this.#observed.knows(taken.load)
              ? "drawn"
              : "unknown";
      const failure =
        known === undefined ? (own ?? this.#observed.draw(taken.load, first.seed, nth)) : known.failure;
      calls.push({ taken, failure, source });
      if (failure === undefined) return { calls, refusal: undefined };
      input = this.#after(input, decided, failure, story.decisions[index + 1]);
    }
    return { calls, refusal: undefined };
  }

  #decide(input: DecideInput, first: DecisionLine): Decided {
    // On the config of the log a line carries all that there is to know.
    if (first.config.hash === this.#config.hash) return decide(input);
    const decided = decide(this.#knowledge.complete(input));
    this.#knowledge.apply(decided.effects, input.router);
    return decided;
  }

  /** The input of the decision after a failure: the log's own while the request goes the way that it went. */
  #after(
    before: DecideInput,
    decided: Decided,
    failure: Failure,
    next: DecisionLine | undefined,
  ): DecideInput {
    const { decision } = decided;
    if (decision.kind !== "attempt") return before;
    if (next !== undefined) this.#knowledge.learn(next);
    const startedAt = before.now + decision.delayMs;
    const endedAt = startedAt + failure.ms;
    const { error, status, retryAfterMs } = failure;
    const history = appendAttempt(decided.history, {
      decision: before.decisionId,
      group: decision.group.key,
      deployment: decision.deployment.id,
      error,
      status,
      retryAfterMs,
      startedAt,
      endedAt,
    });
    const fresh = next === undefined ? before : inputOf(next, this.#config, this.#callers);
    if (next !== undefined && isSameWay(history, next.history)) return fresh;
    return { ...fresh, history, now: endedAt, decisionId: `${before.decisionId}+` };
  }
}

/** Whether two histories are of the same calls, moves and ends, however long each took. */
function isSameWay(left: History, right: History): boolean {
  return wayOf(left) === wayOf(right);
}

function wayOf({ asked, hops, attempts, lastResorts }: History): string {
  const ends = attempts.map(({ group, deployment, error }) => [group, deployment, error]);
  return JSON.stringify([asked, hops.map(({ group, kind }) => [group, kind]), ends, lastResorts]);
}
