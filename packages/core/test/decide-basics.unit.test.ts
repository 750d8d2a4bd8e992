import { describe, expect, it } from "vitest";
import { brief, config, deployment, group, input, run } from "./builders.ts";

const two = config([
  group("g", [deployment("a/m", { weight: 3 }), deployment("b/m")], { retry: { jitter: false } }),
]);

describe("decide", () => {
  it("picks, retries with back-off, fails over and gives up (E1, E2, E3)", () => {
    const failures = Array.from({ length: 6 }, () => ({ error: "server_error", status: 500 }) as const);
    expect(run(input(two, { seed: 3 }), failures).map(brief)).toEqual([
      "a/m",
      "a/m +250",
      "a/m +500",
      "b/m",
      "b/m +250",
      "b/m +500",
      "502 upstream_unreachable",
    ]);
  });
});
