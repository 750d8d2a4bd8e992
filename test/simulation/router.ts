import {
  addBench,
  benchLookup,
  decide,
  EMPTY_HEALTH_STATE,
  expire,
  type Decided,
  type HealthSnapshot,
  type HealthState,
  type History,
  LoadLedger,
  loadKeyLookup,
  type LoadReport,
  mergeHealth,
  type Outcome,
  PROBE_LEASE_MS,
  probeClaims,
  type ProbeClaims,
  reduceAll,
  type RequestFacts,
  type CallerKey,
} from "@switchyard/core";
import type { Scenario } from "./scenario.ts";

const EVERYONE_READY: ReadonlySet<string> = new Set<string>();

/** One router as its service runs it: a health replica of its own and one ledger. */
export class Router {
  readonly name: string;
  readonly ledger = new LoadLedger();
  readonly #scenario: Scenario;
  #health: HealthState = EMPTY_HEALTH_STATE;
  #trafficAt = Number.NEGATIVE_INFINITY;

  constructor(name: string, scenario: Scenario) {
    this.name = name;
    this.#scenario = scenario;
  }

  get snapshot(): HealthSnapshot {
    return this.#health.snapshot;
  }

  decide(request: {
    readonly id: string;
    readonly facts: RequestFacts;
    readonly key: CallerKey;
    readonly history: History;
    readonly seed: number;
    readonly forwarder: string;
    readonly probers: ReadonlyMap<string, number>;
    readonly now: number;
  }): Decided {
    const { id, facts, key, history, seed, forwarder, now } = request;
    this.#trafficAt = now;
    const decided = decide({
      config: this.#scenario.config,
      health: this.#health.snapshot,
      load: this.ledger.snapshot(EVERYONE_READY, this.#scenario.routers, request.probers),
      request: { facts, key },
      history,
      now,
      seed,
      decisionId: id,
      router: this.name,
      explain: false,
    });
    this.ledger.apply(decided.effects, now, forwarder);
    for (const effect of decided.effects) {
      if (effect.kind === "bench") this.#health = addBench(this.#health, effect.bench, now).state;
    }
    return decided;
  }

  observe(outcomes: readonly Outcome[], now: number): void {
    const { config } = this.#scenario;
    this.#health = reduceAll(this.#health, outcomes, benchLookup(config), now).state;
    this.ledger.observe(outcomes, loadKeyLookup(config), now);
  }

  hear(health: HealthSnapshot): void {
    this.#health = { ...this.#health, snapshot: mergeHealth(this.#health.snapshot, health) };
  }

  report(report: LoadReport, now: number): void {
    this.ledger.report(report, now);
  }

  probeClaims(now: number): ProbeClaims {
    const { config, group } = this.#scenario;
    const groups = this.#trafficAt + PROBE_LEASE_MS < now ? [] : [group.key];
    const probing = this.ledger.snapshot(EVERYONE_READY).probes?.keys() ?? [];
    return probeClaims(this.snapshot, config, groups, probing, this.name, now);
  }

  tick(now: number): void {
    this.#health = expire(this.#health, now).state;
    this.ledger.tick(now);
  }
}
