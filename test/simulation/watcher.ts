import {
  benchedUntil,
  requestsThisMinute,
  wasCalled,
  type AttemptDecision,
  type Decided,
  type History,
  type RefuseDecision,
} from "@switchyard/core";
import type { Forwarder } from "./cluster.ts";
import type { Router } from "./router.ts";
import { START, type Scenario } from "./scenario.ts";

/** What one simulation came to. */
export interface Figures {
  readonly requests: number;
  readonly served: number;
  /** Requests that called more than one deployment. */
  readonly failedOver: number;
  readonly calls: number;
  /** Calls that served nobody. */
  readonly wasted: number;
  /** Calls by deployment id. */
  readonly byDeployment: ReadonlyMap<string, number>;
  readonly probes: number;
  /** From the start of the outage until ordinary calls to the failing deployment pause for a second, ms. */
  readonly leaveMs: number;
  /** From the end of the outage until the first ordinary call there serves, ms; undefined when none did. */
  readonly rejoinMs: number | undefined;
}

function isAtLimit({ limits, scopes }: AttemptDecision["deployment"], router: Router, now: number): boolean {
  const load = router.ledger.snapshot(new Set()).deployments?.get(scopes.model);
  return requestsThisMinute(load, now) >= (limits?.rpm ?? Number.POSITIVE_INFINITY);
}

const PAUSE_MS = 1_000;
const MOST_FAULTS = 5;

/** Sees everything that happens in a simulation: checks what must always hold, and counts. */
export class Watcher {
  readonly faults: string[] = [];
  readonly #scenario: Scenario;
  readonly #open = new Set<string>();
  readonly #probing = new Map<string, AttemptDecision>();
  readonly #byDeployment = new Map<string, number>();
  readonly #ordinary: number[] = [];
  #requests = 0;
  #served = 0;
  #failedOver = 0;
  #calls = 0;
  #wasted = 0;
  #probes = 0;
  #rejoinedAt: number | undefined;

  constructor(scenario: Scenario) {
    this.#scenario = scenario;
  }

  arrived(request: string): void {
    this.#requests += 1;
    this.#open.add(request);
  }

  decided(request: string, { decision, effects, history }: Decided, router: Router, now: number): void {
    const { group } = this.#scenario;
    const isBenched = (deployment: AttemptDecision["deployment"]): boolean =>
      benchedUntil(router.snapshot, group.key, true, deployment.scopes) > now;
    if (decision.kind === "refuse") {
      const isClosed = (deployment: AttemptDecision["deployment"]): boolean =>
        isBenched(deployment) || isAtLimit(deployment, router, now);
      const untried = history.attempts.length === 0;
      this.#check(!untried || group.deployments.every(isClosed), `${request} refused although one is free`);
      return;
    }
    const { deployment, probe, lastResort } = decision;
    const heeds = group.policy.bench.failures > 0;
    this.#check(
      !heeds || probe || lastResort || !isBenched(deployment),
      `${request} sent to ${deployment.id}, which is benched`,
    );
    for (const effect of effects) {
      if (effect.kind !== "probe") continue;
      this.#probes += 1;
      for (const key of effect.keys) {
        this.#check(!this.#probing.has(key), `${request} is a second probe of ${key}`);
        this.#probing.set(key, decision);
      }
    }
  }

  called({ deployment, probe, lastResort }: AttemptDecision, now: number): void {
    this.#calls += 1;
    this.#byDeployment.set(deployment.id, (this.#byDeployment.get(deployment.id) ?? 0) + 1);
    if (deployment.id === this.#failing.id && !probe && !lastResort) this.#ordinary.push(now);
  }

  answered(attempt: AttemptDecision, served: boolean, now: number): void {
    if (!served) this.#wasted += 1;
    for (const [key, probe] of this.#probing) if (probe === attempt) this.#probing.delete(key);
    const { deployment, probe, lastResort } = attempt;
    const isBack = served && deployment.id === this.#failing.id && !probe && !lastResort;
    if (isBack && now >= START + this.#outage.to) this.#rejoinedAt ??= now;
  }

  ended(request: string, history: History, now: number, refusal: RefuseDecision | undefined): void {
    const { policy } = this.#scenario.group;
    this.#check(this.#open.delete(request), `${request} ended twice`);
    const calls = history.attempts.filter(wasCalled);
    const made = calls.length + (refusal === undefined ? 1 : 0);
    this.#check(made <= policy.maxAttempts, `${request} made ${made} calls`);
    const deployments = new Set(calls.map(({ deployment }) => deployment)).size;
    const most = policy.failover.maxDeployments;
    this.#check(most === 0 || deployments <= most, `${request} called ${deployments} deployments`);
    if (refusal === undefined) this.#served += 1;
    if (deployments > 1 || (deployments === 1 && refusal === undefined && made > 1)) this.#failedOver += 1;
    this.#check(now - START < 600_000, `${request} took too long`);
  }

  /** Long after the last request nothing may be left over. */
  rest(routers: readonly Router[], forwarders: readonly Forwarder[]): void {
    this.#check(this.#open.size === 0, `${this.#open.size} requests never ended`);
    this.#check(this.#probing.size === 0, "a probe never ended");
    for (const { name, counters } of forwarders) {
      this.#check(counters.inFlight === 0, `${name} is not at rest`);
    }
    for (const { name, ledger } of routers) {
      this.#check(ledger.leases === 0, `${name} holds ${ledger.leases} leases`);
      const load = ledger.snapshot(new Set());
      this.#check(load.probes?.size === 0, `${name} holds a probe`);
      for (const [key, { inFlight }] of load.deployments ?? []) {
        this.#check(inFlight === 0, `${name} has ${inFlight} in flight at ${key}`);
      }
    }
  }

  figures(): Figures {
    const { to } = this.#outage;
    return {
      requests: this.#requests,
      served: this.#served,
      failedOver: this.#failedOver,
      calls: this.#calls,
      wasted: this.#wasted,
      byDeployment: this.#byDeployment,
      probes: this.#probes,
      leaveMs: this.#leaveMs(),
      rejoinMs: this.#rejoinedAt === undefined ? undefined : this.#rejoinedAt - START - to,
    };
  }

  get #failing(): AttemptDecision["deployment"] {
    return this.#scenario.group.deployments[0] as AttemptDecision["deployment"];
  }

  get #outage(): { readonly from: number; readonly to: number } {
    return this.#scenario.providers.get(this.#failing.provider)?.outage ?? { from: 0, to: 0 };
  }

  #leaveMs(): number {
    const { from, to } = this.#outage;
    let left = START + from;
    for (const at of this.#ordinary) {
      if (at < START + from) continue;
      if (at >= START + to || at - left >= PAUSE_MS) break;
      left = at;
    }
    return left - START - from;
  }

  #check(holds: boolean, fault: string): void {
    if (!holds && this.faults.length < MOST_FAULTS) this.faults.push(fault);
  }
}
