import type { BenchEntry } from "../domain/bench.ts";
import type { Effect } from "../domain/decision.ts";
import type { BudgetLevel, DeploymentLoad } from "../domain/load.ts";
import type { DecideInput } from "../decide/input.ts";
import { setBounded } from "../load/bounded.ts";
import type { DecisionLine } from "./line.ts";

/** Most of anything that is remembered. */
const MOST = 10_000;
const MAX_ROUTERS = 1_000;

interface Ledger {
  readonly places: Map<string, number>;
  readonly budgets: Map<string, BudgetLevel>;
}

/**
 * What a log has told so far. A line carries what its own decision could read; a candidate config may ask for more, such
 * as the load of a deployment that was not in the group. That is taken from the last line that carried it, and counters
 * that no line carries are kept as the replayed decisions move them.
 */
export class Knowledge {
  readonly #benches = new Map<string, BenchEntry>();
  readonly #deployments = new Map<string, DeploymentLoad>();
  readonly #ledgers = new Map<string, Ledger>();

  /** Takes in what a line carries. */
  learn({ health, load, router }: DecisionLine): void {
    for (const [key, entry] of health.benches) setBounded(this.#benches, key, entry, MOST);
    for (const [key, one] of load.deployments ?? []) setBounded(this.#deployments, key, one, MOST);
    const { places, budgets } = this.#ledgerOf(router);
    for (const [place, value] of load.places) setBounded(places, place, value, MOST);
    for (const [group, level] of load.budgets ?? []) setBounded(budgets, group, level, MOST);
  }

  /** The input with all that is known: a view that holds until the next line or effect. */
  complete(input: DecideInput): DecideInput {
    const { places, budgets } = this.#ledgerOf(input.router);
    return {
      ...input,
      health: { version: input.health.version, benches: this.#benches },
      load: { ...input.load, places, budgets, deployments: this.#deployments },
    };
  }

  /** Counters and budgets that a replayed decision moves on. */
  apply(effects: readonly Effect[], router: string | undefined): void {
    const { places, budgets } = this.#ledgerOf(router);
    for (const effect of effects) {
      if (effect.kind === "place") setBounded(places, effect.place, effect.value, MOST);
      if (effect.kind === "budget") {
        setBounded(budgets, effect.group, { level: effect.level, at: effect.at }, MOST);
      }
    }
  }

  #ledgerOf(router = ""): Ledger {
    let ledger = this.#ledgers.get(router);
    if (ledger === undefined) {
      ledger = { places: new Map(), budgets: new Map() };
      setBounded(this.#ledgers, router, ledger, MAX_ROUTERS);
    }
    return ledger;
  }
}
