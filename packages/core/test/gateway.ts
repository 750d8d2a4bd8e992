import {
  appendAttempt,
  type AttemptDecision,
  decide,
  type DecideInput,
  type Decided,
  EMPTY_HISTORY,
  type ErrorClass,
  type Group,
  LoadCounters,
  LoadLedger,
  NOT_SERVED,
  type CountedCall,
  type Outcome,
} from "../src/index.ts";
import { config, input, T0 } from "./builders.ts";

/** A call under way. */
export interface Call {
  readonly decision: string;
  readonly attempt: AttemptDecision;
  readonly input: DecideInput;
  readonly decided: Decided;
  readonly startedAt: number;
  readonly counted: CountedCall;
}

/** One router and one forwarder over a group: decides, counts as a forwarder does, and reports at once. */
export class Gateway {
  readonly ledger = new LoadLedger();
  readonly #group: Group;
  readonly #counters = new LoadCounters("f");
  readonly #override: Partial<DecideInput>;
  now = T0;
  #serial = 0;

  constructor(of: Group, override: Partial<DecideInput> = {}) {
    this.#group = of;
    this.#override = override;
  }

  /** First decision of a new request; undefined when it is refused. */
  begin(override: Partial<DecideInput> = {}): Call | undefined {
    return this.#decide({ history: EMPTY_HISTORY, ...override });
  }

  /** The call went well after `ms`. */
  succeed(call: Call, ms: number, tokens = 0): void {
    this.now = Math.max(this.now, call.startedAt + ms);
    call.counted.end({ ...NOT_SERVED, served: true, firstTokenMs: ms, tokens }, this.now);
    if (call.attempt.probe) this.#observe(call, undefined);
    this.report();
  }

  /** The call failed after `ms`; the decision that follows, undefined when it refuses. */
  fail(call: Call, error: ErrorClass, ms: number): Call | undefined {
    this.now = Math.max(this.now, call.startedAt + ms);
    call.counted.end(NOT_SERVED, this.now);
    this.#observe(call, error);
    this.report();
    const { decision, attempt, startedAt } = call;
    const history = appendAttempt(call.decided.history, {
      decision,
      group: attempt.group.key,
      deployment: attempt.deployment.id,
      error,
      status: undefined,
      retryAfterMs: undefined,
      startedAt,
      endedAt: this.now,
    });
    return this.#decide({ ...call.input, history });
  }

  /** What the forwarder's periodic report does. */
  report(): void {
    const report = this.#counters.report(this.now);
    if (report !== undefined) this.ledger.report(report, this.now + 10);
  }

  inFlight(id: string): number {
    return this.ledger.snapshot(new Set()).deployments?.get(`m:${id}`)?.inFlight ?? 0;
  }

  #decide(override: Partial<DecideInput>): Call | undefined {
    this.#serial += 1;
    const decision = `d${this.#serial}`;
    const base = input(config([this.#group]), {
      seed: Math.imul(this.#serial, 0x9e3779b1) >>> 0,
      ...this.#override,
      ...override,
      load: this.ledger.snapshot(new Set()),
      now: this.now,
      decisionId: decision,
    });
    const decided = decide(base);
    this.ledger.apply(decided.effects, this.now, "f");
    const { decision: made } = decided;
    if (made.kind === "refuse") return undefined;
    const counted = this.#counters.begin(
      { load: made.deployment.scopes.model, tokens: 0, ownKey: false },
      this.now,
    );
    const startedAt = this.now + made.delayMs;
    return { decision, attempt: made, input: base, decided, startedAt, counted };
  }

  #observe(call: Call, error: ErrorClass | undefined): void {
    const { attempt } = call;
    const outcome: Outcome = {
      decision: call.decision,
      group: attempt.group.key,
      deployment: attempt.deployment.id,
      error,
      status: undefined,
      retryAfterMs: undefined,
      decidedAt: call.input.now,
      at: this.now,
      probe: attempt.probe,
      ownKey: false,
    };
    this.ledger.observe([outcome], () => attempt.deployment.scopes.model, this.now);
  }
}
