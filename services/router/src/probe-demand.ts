import type { HealthReplica } from "@switchyard/cluster";
import { PROBE_LEASE_MS, probeClaims } from "@switchyard/core";
import type { EpochMs, History, ProbeClaims } from "@switchyard/core";
import type { ConfigHistory } from "./config-history.ts";
import type { LoadBook } from "./load-book.ts";

const MOST_GROUPS = 10_000;

export interface ProbeDemandOptions {
  readonly configs: ConfigHistory;
  readonly health: HealthReplica;
  readonly load: LoadBook;
  readonly now: () => EpochMs;
  /** Of this router, as health names it. */
  readonly name: string;
}

/** B4: where this router has traffic, so that health names one to probe a bench that has some for it. */
export class ProbeDemand {
  readonly #options: ProbeDemandOptions;
  readonly #seenAt = new Map<string, EpochMs>();

  constructor(options: ProbeDemandOptions) {
    this.#options = options;
  }

  /** A request came, asked for a group, and may have moved on to others. */
  saw({ asked, hops }: History, now: EpochMs): void {
    if (asked === undefined || (this.#seenAt.size >= MOST_GROUPS && !this.#seenAt.has(asked))) return;
    this.#seenAt.set(asked, now);
    for (const { group } of hops) this.#seenAt.set(group, now);
  }

  claims(): ProbeClaims {
    const { configs, health, load, name } = this.#options;
    const now = this.#options.now();
    for (const [group, at] of this.#seenAt) if (at + PROBE_LEASE_MS < now) this.#seenAt.delete(group);
    const probing = load.snapshot().probes?.keys() ?? [];
    return probeClaims(health.snapshot, configs.current, this.#seenAt.keys(), probing, name, now);
  }
}
