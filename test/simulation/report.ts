import { STRATEGIES, type Strategy } from "@switchyard/core";
import { simulate } from "./cluster.ts";
import { scenarioOf, type Scenario } from "./scenario.ts";
import { Watcher, type Figures } from "./watcher.ts";

/** One simulation. */
export interface Simulated {
  readonly scenario: Scenario;
  readonly figures: Figures;
  readonly faults: readonly string[];
}

/** Simulates a seed under a strategy; the same one twice gives the same figures. */
export function simulateSeed(seed: number, strategy: Strategy): Simulated {
  const scenario = scenarioOf(seed, strategy);
  const watcher = new Watcher(scenario);
  simulate(scenario, watcher);
  return { scenario, figures: watcher.figures(), faults: watcher.faults };
}

/** What many simulations came to, one line for each strategy, and every fault with the command that shows it. */
export function report(
  seeds: readonly number[],
  strategies: readonly Strategy[] = STRATEGIES,
): { readonly lines: readonly string[]; readonly faults: readonly string[] } {
  const lines: string[] = [];
  const faults: string[] = [];
  for (const strategy of strategies) {
    const all = seeds.map((seed) => simulateSeed(seed, strategy));
    if (seeds.length === 1) lines.push(...all.map(describe));
    lines.push(summarise(strategy, all));
    for (const { scenario, faults: found } of all) {
      for (const fault of found) {
        faults.push(
          `seed ${scenario.seed}, ${strategy}: ${fault}\n` +
            `  node test/simulation/main.ts --seed ${scenario.seed} --strategy ${strategy}`,
        );
      }
    }
  }
  return { lines, faults };
}

function summarise(strategy: Strategy, all: readonly Simulated[]): string {
  const sum = (of: (figures: Figures) => number): number =>
    all.reduce((total, { figures }) => total + of(figures), 0);
  const calls = sum((figures) => figures.calls);
  const share = (of: (scenario: Scenario) => string): string =>
    percent(
      all.reduce((total, one) => total + (one.figures.byDeployment.get(of(one.scenario)) ?? 0), 0),
      calls,
    );
  const requests = sum((figures) => figures.requests);
  const rejoined = all.flatMap(({ figures }) => figures.rejoinMs ?? []);
  return [
    strategy.padEnd(14),
    `served ${percent(
      sum((figures) => figures.served),
      requests,
    )}`,
    `failover ${percent(
      sum((figures) => figures.failedOver),
      requests,
    )}`,
    `wasted ${percent(
      sum((figures) => figures.wasted),
      calls,
    )}`,
    `probes ${sum((figures) => figures.probes)}`,
    `fastest ${share(fastest)}`,
    `cheapest ${share(cheapest)}`,
    `heaviest ${share(heaviest)}`,
    `leave ${times(all.map(({ figures }) => figures.leaveMs))}`,
    `rejoin ${times(rejoined)} in ${rejoined.length} of ${all.length}`,
  ].join("  ");
}

function describe({ scenario, figures }: Simulated): string {
  const shares = scenario.group.deployments.map(({ id, weight, provider }) => {
    const { latencyMs, rpm } = scenario.providers.get(provider) ?? { latencyMs: 0, rpm: undefined };
    const limit = rpm === undefined ? "" : `, ${rpm} rpm`;
    return `${id} (weight ${weight}, ${latencyMs} ms${limit}) ${percent(figures.byDeployment.get(id) ?? 0, figures.calls)}`;
  });
  const { preset, routers, forwarders } = scenario;
  const affinity = scenario.group.policy.affinity?.by ?? "none";
  return `seed ${scenario.seed}  ${preset}  affinity ${affinity}  ${routers} routers  ${forwarders} forwarders  ${shares.join("  ")}`;
}

function fastest({ group, providers }: Scenario): string {
  return lowest(group.deployments, ({ provider }) => providers.get(provider)?.latencyMs ?? 0);
}

function cheapest({ group }: Scenario): string {
  return lowest(group.deployments, ({ price }) => (price?.input ?? 0) + (price?.output ?? 0));
}

function heaviest({ group }: Scenario): string {
  return lowest(group.deployments, ({ weight }) => -weight);
}

function lowest(
  deployments: Scenario["group"]["deployments"],
  of: (deployment: Scenario["group"]["deployments"][number]) => number,
): string {
  let [best] = deployments;
  for (const one of deployments) if (best !== undefined && of(one) < of(best)) best = one;
  return best?.id ?? "";
}

function percent(part: number, whole: number): string {
  return `${(whole === 0 ? 0 : (100 * part) / whole).toFixed(2)} %`;
}

/** Median and 95th percentile. */
function times(all: readonly number[]): string {
  const sorted = all.toSorted((left, right) => left - right);
  const at = (share: number): string =>
    (sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0).toFixed(0);
  return `${at(0.5)} ms (p95 ${at(0.95)})`;
}
