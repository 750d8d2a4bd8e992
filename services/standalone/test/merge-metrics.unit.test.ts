import { expect, it } from "vitest";
import { mergeMetrics } from "../src/workers/merge-metrics.ts";

function exposition(requests: number, inFlight: number, revision: number): string {
  return [
    "# HELP switchyard_requests_total Requests answered",
    "# TYPE switchyard_requests_total counter",
    `switchyard_requests_total{group="a b",status="200"} ${requests}`,
    "",
    "# HELP switchyard_deployment_in_flight Requests in flight",
    "# TYPE switchyard_deployment_in_flight gauge",
    `switchyard_deployment_in_flight{group="a b",deployment="p/m"} ${inFlight}`,
    "",
    "# HELP switchyard_config_revision Revision",
    "# TYPE switchyard_config_revision gauge",
    `switchyard_config_revision ${revision}`,
    "",
  ].join("\n");
}

it("sums what workers count and keeps what they all see", () => {
  expect(mergeMetrics([exposition(1, 2, 7), exposition(10, 20, 6)])).toBe(exposition(11, 22, 7));
});

it("keeps series that only one worker has", () => {
  const merged = mergeMetrics(["# TYPE x_total counter\nx_total 1\n", "# TYPE y_total counter\ny_total 2\n"]);
  expect(merged).toContain("x_total 1");
  expect(merged).toContain("y_total 2");
});
