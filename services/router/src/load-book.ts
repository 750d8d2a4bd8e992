import { fromBinary } from "@bufbuild/protobuf";
import type { EventBus, Subscription } from "@switchyard/bus";
import type { RouterBoard } from "@switchyard/cluster";
import { loadReportFromWire, outcomeFromWire, SUBJECTS } from "@switchyard/cluster";
import { LoadLedger, loadKeyLookup } from "@switchyard/core";
import type { ConfigSnapshot, Effect, LoadKeyLookup, LoadSnapshot, Outcome } from "@switchyard/core";
import { LoadReportSchema, OutcomeBatchSchema } from "@switchyard/proto/events/v1/events";

const TICK_MS = 1_000;

export interface LoadBookOptions {
  readonly bus: EventBus;
  readonly now: () => number;
  /** Providers without a credential (R10). */
  readonly notReady: () => ReadonlySet<string>;
  /** The routers that share the budgets of the cluster and its probes. */
  readonly routers: Pick<RouterBoard, "names" | "probers">;
}

/** A router's load: what forwarders report, how attempts end, and what this router has just decided. */
export class LoadBook {
  readonly #options: LoadBookOptions;
  readonly #ledger = new LoadLedger();
  readonly #subscriptions: readonly Subscription[];
  readonly #timer: NodeJS.Timeout;
  #lookup: LoadKeyLookup = () => undefined;

  constructor(options: LoadBookOptions) {
    this.#options = options;
    this.#subscriptions = [
      options.bus.subscribe(SUBJECTS.load, (payload) => this.#onReport(payload)),
      options.bus.subscribe(SUBJECTS.outcomes, (payload) => this.#onOutcomes(payload)),
    ];
    this.#timer = setInterval(() => this.#ledger.tick(options.now()), TICK_MS);
    this.#timer.unref();
  }

  /** Outcomes name groups and deployments of this config from now on. */
  useConfig(config: ConfigSnapshot): void {
    this.#lookup = loadKeyLookup(config);
  }

  /** What a decision goes by; a view that holds for its turn. */
  snapshot(): LoadSnapshot {
    const { notReady, routers } = this.#options;
    return this.#ledger.snapshot(notReady(), Math.max(1, routers.names.length), routers.probers);
  }

  /** What a decision changes, in its own turn. `reporter`: who will report the call; empty for nobody. */
  apply(effects: readonly Effect[], now: number, reporter: string): void {
    this.#ledger.apply(effects, now, reporter === "" ? undefined : reporter);
  }

  /** How attempts ended, as callers tell it with their next question. */
  observe(outcomes: Iterable<Outcome>): void {
    this.#ledger.observe(outcomes, this.#lookup, this.#options.now());
  }

  close(): void {
    clearInterval(this.#timer);
    for (const subscription of this.#subscriptions) subscription.unsubscribe();
  }

  #onReport(payload: Uint8Array): void {
    const report = fromBinary(LoadReportSchema, payload);
    if (report.leaving) this.#ledger.forget(report.reporter);
    else this.#ledger.report(loadReportFromWire(report), this.#options.now());
  }

  /** Successes come summed: reports measure them, and they end no lease that a report would not. */
  #onOutcomes(payload: Uint8Array): void {
    const { outcomes } = fromBinary(OutcomeBatchSchema, payload);
    if (outcomes.length > 0) this.observe(outcomes.map(outcomeFromWire));
  }
}
