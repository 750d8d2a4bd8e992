import { seededRandom } from "@switchyard/testkit";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { expect, it } from "vitest";
import { attemptOf, Decisions } from "../support/decisions.ts";
import type { Asked } from "../support/decisions.ts";
import { faultsOf } from "../support/faults.ts";
import { policyOf } from "../support/policy.ts";

const PRESET = { preset: "weighted_primary" };
const A = { provider: "a", model: "m" };
const B = { provider: "b", model: "m" };
const C = { provider: "c", model: "m" };
const SEVENTY_THIRTY = [
  { ...A, weight: 70 },
  { ...B, weight: 30 },
];

/** A session of its own for each request. */
function sessions(): (index: number) => Asked {
  const random = seededRandom(11);
  return () => ({ session: Math.floor(random() * 2 ** 32) });
}

it("what the preset's numbers are (section 10)", () => {
  expect(policyOf("weighted_primary")).toMatchObject({
    strategy: "weighted",
    zeroWeight: "standby",
    translate: true,
    maxAttempts: 2,
    requestTimeoutMs: 60_000,
    attemptTimeoutMs: 60_000,
    onTimeout: "refuse",
    maxRetryBodyBytes: 8 * 1024 * 1024,
    affinity: { by: "session" },
    retry: { maxRetries: 0, respectRetryAfter: false },
    failover: { maxDeployments: 2, order: "weight", timeoutMultiplier: 1, waitMs: 0 },
    bench: {
      failures: 5,
      windowMs: 30_000,
      cooloffMs: 30_000,
      scope: "provider",
      rateLimitSkip: { defaultMs: 10_000, maxMs: 60_000, learn: false },
      quotaCooloffMs: 60_000,
      probeShare: 0,
      ramp: [],
      whenAllBenched: "refuse",
    },
  });
});

it("With 70/30, about 70% go to the first and 30% to the second: 10,000 sessions within 1.5 points (S1, F2)", async () => {
  await using decisions = new Decisions(SEVENTY_THIRTY, PRESET);
  const counts = decisions.counts(10_000, sessions());
  expect(Math.abs((counts["a/m"] ?? 0) - 7_000)).toBeLessThan(150);
  expect((counts["a/m"] ?? 0) + (counts["b/m"] ?? 0)).toBe(10_000);
});

it("With 70/30 and the pin switched off, 10,000 requests of one caller split as well (S1)", async () => {
  await using decisions = new Decisions(SEVENTY_THIRTY, { ...PRESET, affinity: { by: "none" } });
  const counts = decisions.counts(10_000);
  expect(Math.abs((counts["a/m"] ?? 0) - 7_000)).toBeLessThan(150);
});

it("A new model starts at 100/0: everything goes to the first destination (K6)", async () => {
  await using decisions = new Decisions([A, B], PRESET);
  expect(decisions.counts(10_000, sessions())).toEqual({ "a/m": 10_000 });
});

it("Weights always add up to 100 (K6)", () => {
  const group = (...weights: readonly (number | undefined)[]): object => ({
    name: "g",
    deployments: [A, B, C].slice(0, weights.length).map((each, place) => {
      const weight = weights[place];
      return weight === undefined ? each : { ...each, weight };
    }),
    policy: PRESET,
  });
  for (const good of [
    [70, 30],
    [100, 0],
    [50, 25, 25],
    [undefined, undefined],
  ])
    expect(faultsOf([group(...good)], ["g"])).toBe("");
  for (const bad of [
    [70, 20],
    [60, 60],
    [undefined, 30],
  ]) {
    expect(faultsOf([group(...bad)], ["g"])).toMatch(/groups\[0\]\.deployments: weights total \d+/);
  }
});

it("The highest weight is the primary, the others are failover in order of weight (S2, K6)", async () => {
  const deployments = [
    { ...A, weight: 20 },
    { ...B, weight: 70 },
    { ...C, weight: 10 },
  ];
  await using decisions = new Decisions(deployments, { ...PRESET, bench: { failures: 0 } });
  const nextOf: Readonly<Record<string, string>> = { a: "b", b: "a", c: "b" };
  const ask = sessions();
  for (let count = 0; count < 100; count += 1) {
    const asked = ask(count);
    const first = decisions.decide(asked);
    const { provider, next } = attemptOf(first);
    expect(next).toBe(`${nextOf[provider]}/m`);
    const second = decisions.decide(asked, { decided: first, error: ErrorClass.SERVER_ERROR });
    expect(attemptOf(second).provider).toBe(nextOf[provider]);
    const third = decisions.decide(asked, { decided: second, error: ErrorClass.SERVER_ERROR });
    expect(third.decision.case).toBe("refusal");
  }
});

it("Removing a name removes its grants: a key that still has one is refused when saved (K4)", () => {
  const groups = [{ name: "kept", deployments: [A], policy: PRESET }];
  expect(faultsOf(groups, ["kept"])).toBe("");
  expect(faultsOf(groups, ["kept", "removed"])).toMatch(/groups\[1\]: unknown group "removed"/);
});
