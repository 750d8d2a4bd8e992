import { STRATEGIES } from "@switchyard/core";
import { describe, expect, it } from "vitest";
import { report, simulateSeed } from "./report.ts";
import { Watcher } from "./watcher.ts";
import { scenarioOf } from "./scenario.ts";

const seeds = Array.from({ length: 20 }, (_, index) => index + 1);

describe("simulation", () => {
  it.each(STRATEGIES)("issue 3: 20 seeds of %s hold all invariants", (strategy) => {
    const { lines, faults } = report(seeds, [strategy]);
    expect(faults).toEqual([]);
    expect(lines).toHaveLength(1);
  });

  it("issue 3: the same seed twice prints the same bytes", () => {
    const once = report([7, 8], ["least_busy", "lowest_latency"]);
    expect(report([7, 8], ["least_busy", "lowest_latency"])).toEqual(once);
    expect(once.lines.join("\n")).toContain("leave");
  });

  it("issue 3: a fault names the one command that shows it", () => {
    const watcher = new Watcher(scenarioOf(3, "weighted"));
    watcher.arrived("q1");
    watcher.rest([], []);
    expect(watcher.faults).toEqual(["1 requests never ended"]);
  });

  it("S3 lowest_latency calls the fastest and lowest_cost the cheapest more than anyone else does", () => {
    const share = (
      strategy: "weighted" | "lowest_latency" | "lowest_cost",
      of: "latency" | "cost",
    ): number => {
      let calls = 0;
      let all = 0;
      for (const seed of seeds) {
        const { scenario, figures } = simulateSeed(seed, strategy);
        const value = ({ provider, price }: (typeof scenario.group.deployments)[number]): number =>
          of === "cost"
            ? (price?.input ?? 0) + (price?.output ?? 0)
            : (scenario.providers.get(provider)?.latencyMs ?? 0);
        const [best] = scenario.group.deployments.toSorted((left, right) => value(left) - value(right));
        calls += figures.byDeployment.get(best?.id ?? "") ?? 0;
        all += figures.calls;
      }
      return calls / all;
    };
    expect(share("lowest_latency", "latency")).toBeGreaterThan(1.5 * share("weighted", "latency"));
    expect(share("lowest_cost", "cost")).toBeGreaterThan(1.5 * share("weighted", "cost"));
  });
});
