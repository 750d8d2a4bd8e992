/** Routers, forwarders, one health service and providers, joined by messages that take time. */
import {
  appendAttempt,
  benchLookup,
  countProbers,
  EMPTY_HEALTH_STATE,
  EMPTY_HISTORY,
  expire,
  grantProbes,
  LoadCounters,
  NOT_SERVED,
  type AttemptDecision,
  type CountedCall,
  type Decided,
  type HealthSnapshot,
  type HealthState,
  type History,
  type Outcome,
  type ProbeClaims,
  reduceAll,
  type RequestFacts,
  REPORT_EVERY_MS,
} from "@switchyard/core";
import { SimulatedClock } from "./clock.ts";
import { Provider, type Answer } from "./provider.ts";
import { Router } from "./router.ts";
import { DURATION_MS, REQUESTS_PER_SECOND, START, type Scenario } from "./scenario.ts";
import type { Watcher } from "./watcher.ts";

const SESSIONS = 40;
const TOKENS = 500;
/** How long after the last request everything must be at rest, ms. */
const QUIET_MS = 200_000;

/** A forwarder is its counters and the name under which it reports them. */
export interface Forwarder {
  readonly name: string;
  readonly counters: LoadCounters;
}

/** A request under way. */
interface Run {
  readonly id: string;
  readonly facts: RequestFacts;
  readonly key: Scenario["keys"][number];
  readonly router: Router;
  readonly forwarder: Forwarder;
  readonly seed: number;
  history: History;
  decisions: number;
}

/** Runs a scenario to its end; the watcher sees everything that happens. */
export function simulate(scenario: Scenario, watcher: Watcher): void {
  const clock = new SimulatedClock(START);
  new Cluster(scenario, clock, watcher).start();
  clock.run();
}

class Cluster {
  readonly #scenario: Scenario;
  readonly #clock: SimulatedClock;
  readonly #watcher: Watcher;
  readonly #routers: readonly Router[];
  readonly #forwarders: readonly Forwarder[];
  readonly #providers: ReadonlyMap<string, Provider>;
  /** What the health service last heard from each router. */
  readonly #claims = new Map<string, ProbeClaims>();
  #health: HealthState = EMPTY_HEALTH_STATE;

  constructor(scenario: Scenario, clock: SimulatedClock, watcher: Watcher) {
    this.#scenario = scenario;
    this.#clock = clock;
    this.#watcher = watcher;
    const many = <T>(count: number, make: (index: number) => T) =>
      Array.from({ length: count }, (_, index) => make(index));
    this.#routers = many(scenario.routers, (index) => new Router(`r${index}`, scenario));
    this.#forwarders = many(scenario.forwarders, (index) => ({
      name: `f${index}`,
      counters: new LoadCounters(`f${index}`),
    }));
    this.#providers = new Map(
      [...scenario.providers].map(([name, script]) => [name, new Provider(script, scenario.random)]),
    );
  }

  start(): void {
    const { random } = this.#scenario;
    const clock = this.#clock;
    const end = START + DURATION_MS + QUIET_MS;
    const requests = (DURATION_MS / 1_000) * REQUESTS_PER_SECOND;
    for (let index = 0; index < requests; index += 1) {
      clock.after(random() * DURATION_MS, () => this.#arrive(`q${index}`));
    }
    for (const forwarder of this.#forwarders) {
      clock.after(random() * REPORT_EVERY_MS, () =>
        clock.every(REPORT_EVERY_MS, end, () => this.#report(forwarder)),
      );
    }
    clock.every(1_000, end, () => this.#second());
    clock.after(end - START + 1_000, () => this.#watcher.rest(this.#routers, this.#forwarders));
  }

  #arrive(id: string): void {
    const { random, keys } = this.#scenario;
    const session = Math.floor(random() * SESSIONS) * 2_654_435_761;
    const run: Run = {
      id,
      facts: {
        id,
        endpoint: "chat",
        path: "/v1/chat/completions",
        model: "g",
        stream: false,
        bodyBytes: Math.floor(random() * 4_000),
        maxOutputTokens: TOKENS,
        affinity: { session: session % 0x1_0000_0000 },
        storedResponse: false,
        ownKeyProvider: undefined,
        arrivedAt: this.#clock.now,
        deadline: undefined,
      },
      key: this.#one(keys),
      router: this.#one(this.#routers.slice(this.#scenario.idleRouters)),
      forwarder: this.#one(this.#forwarders),
      seed: Math.floor(random() * 0x1_0000_0000),
      history: EMPTY_HISTORY,
      decisions: 0,
    };
    this.#watcher.arrived(id);
    this.#ask(run, undefined);
  }

  /** The forwarder asks the router, with the outcome of the last attempt, which the router learns at once (B6). */
  #ask(run: Run, failed: Outcome | undefined): void {
    this.#send(() => {
      const { now } = this.#clock;
      const { router } = run;
      if (failed !== undefined) router.observe([failed], now);
      run.decisions += 1;
      const id = `${run.id}.${run.decisions}`;
      const { facts, key, history, seed, forwarder } = run;
      const probers = countProbers(this.#claims.values());
      const decided = router.decide({
        id,
        facts,
        key,
        history,
        seed,
        forwarder: forwarder.name,
        probers,
        now,
      });
      this.#watcher.decided(run.id, decided, router, now);
      this.#send(() => this.#carryOut(run, id, decided, now));
    });
  }

  #carryOut(run: Run, id: string, decided: Decided, decidedAt: number): void {
    const { decision, history } = decided;
    run.history = history;
    if (decision.kind === "refuse") {
      this.#watcher.ended(run.id, run.history, this.#clock.now, decision);
      return;
    }
    const begun = { load: decision.deployment.scopes.model, tokens: TOKENS, ownKey: false };
    const call = run.forwarder.counters.begin(begun, this.#clock.now);
    this.#clock.after(decision.delayMs, () => {
      const startedAt = this.#clock.now;
      const answer = this.#providers.get(decision.deployment.provider)?.answer(startedAt);
      if (answer === undefined) throw new Error(`no provider ${decision.deployment.provider}`);
      this.#watcher.called(decision, startedAt);
      this.#clock.after(answer.ms, () =>
        this.#answered(run, id, decision, call, answer, startedAt, decidedAt),
      );
    });
  }

  #answered(
    run: Run,
    id: string,
    attempt: AttemptDecision,
    call: CountedCall,
    answer: Answer,
    startedAt: number,
    decidedAt: number,
  ): void {
    const { now } = this.#clock;
    const served = { ...NOT_SERVED, served: true, firstTokenMs: answer.ms, tokens: TOKENS };
    call.end(answer.error === undefined ? served : NOT_SERVED, now);
    this.#watcher.answered(attempt, answer.error === undefined, now);
    const outcome: Outcome = {
      decision: id,
      group: attempt.group.key,
      deployment: attempt.deployment.id,
      error: answer.error,
      status: undefined,
      retryAfterMs: answer.retryAfterMs,
      decidedAt,
      at: now,
      probe: attempt.probe || attempt.lastResort,
      ownKey: false,
    };
    if (answer.error !== undefined || outcome.probe) this.#publish(outcome);
    if (answer.error === undefined) {
      this.#watcher.ended(run.id, run.history, now, undefined);
      return;
    }
    run.history = appendAttempt(run.history, {
      decision: id,
      group: attempt.group.key,
      deployment: attempt.deployment.id,
      error: answer.error,
      status: undefined,
      retryAfterMs: answer.retryAfterMs,
      startedAt,
      endedAt: now,
    });
    this.#ask(run, outcome);
  }

  #publish(outcome: Outcome): void {
    for (const router of this.#routers) this.#send(() => router.observe([outcome], this.#clock.now));
    this.#send(() => {
      const before = this.#health.snapshot;
      const lookup = benchLookup(this.#scenario.config);
      this.#health = reduceAll(this.#health, [outcome], lookup, this.#clock.now).state;
      this.#grant();
      if (this.#health.snapshot !== before) this.#tell(this.#health.snapshot);
    });
  }

  #report(forwarder: Forwarder): void {
    const report = forwarder.counters.report(this.#clock.now);
    if (report === undefined) return;
    for (const router of this.#routers) {
      if (this.#scenario.random() < this.#scenario.lostReports) continue;
      this.#send(() => router.report(report, this.#clock.now));
    }
  }

  /** What services do once a second. */
  #second(): void {
    const { now } = this.#clock;
    const before = this.#health.snapshot;
    this.#health = expire(this.#health, now).state;
    this.#grant();
    if (this.#health.snapshot !== before) this.#tell(this.#health.snapshot);
    for (const router of this.#routers) {
      router.tick(now);
      const claims = router.probeClaims(now);
      this.#send(() => this.#claims.set(router.name, claims));
    }
  }

  #grant(): void {
    const names = this.#routers.map(({ name }) => name);
    const snapshot = grantProbes(this.#health.snapshot, names, this.#clock.now, this.#claims);
    this.#health = { ...this.#health, snapshot };
  }

  #tell(snapshot: HealthSnapshot): void {
    for (const router of this.#routers) this.#send(() => router.hear(snapshot));
  }

  /** A message on its way. */
  #send(arrive: () => void): void {
    this.#clock.after(this.#scenario.random() * this.#scenario.messageMs, arrive);
  }

  #one<T>(list: readonly T[]): T {
    return list[Math.floor(this.#scenario.random() * list.length)] as T;
  }
}
