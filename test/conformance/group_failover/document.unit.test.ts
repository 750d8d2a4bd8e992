import { expect, it } from "vitest";
import { Endpoint } from "@switchyard/proto/config/v1/config";
import { ErrorClass } from "@switchyard/proto/config/v1/policy";
import { attemptOf, Decisions } from "../support/decisions.ts";
import { faultsOf } from "../support/faults.ts";
import { policyOf } from "../support/policy.ts";

const PRESET = { preset: "group_failover" };
const NO_BENCH = { bench: { failures: 0 } };
const A = { provider: "a", model: "m" };
const B = { provider: "b", model: "m" };
const C = { provider: "c", model: "m" };

it("what a group has that names no preset, and what the preset's numbers are (section 10)", () => {
  const policy = policyOf("group_failover");
  expect(policyOf(undefined)).toEqual(policy);
  expect(policy).toMatchObject({
    strategy: "weighted",
    zeroWeight: "off",
    translate: true,
    maxAttempts: 6,
    requestTimeoutMs: 60_000,
    onTimeout: "failover",
    maxRetryBodyBytes: 0,
    affinity: { by: "none" },
    retry: {
      maxRetries: 2,
      initialBackoffMs: 250,
      maxBackoffMs: 8_000,
      multiplier: 2,
      jitter: true,
      respectRetryAfter: true,
    },
    failover: { maxDeployments: 0, order: "weight", timeoutMultiplier: 1, waitMs: 0 },
    bench: {
      failures: 3,
      windowMs: 60_000,
      cooloffMs: 30_000,
      rateLimitSkip: { defaultMs: 0, learn: false },
      quotaCooloffMs: 0,
      probeShare: 0,
      ramp: [],
      whenAllBenched: "try_soonest",
    },
  });
});

it("Weighted: shares of 10,000 requests follow the weights within 1.5 points (S1)", async () => {
  await using decisions = new Decisions(
    [
      { ...A, weight: 6 },
      { ...B, weight: 3 },
      { ...C, weight: 1 },
    ],
    PRESET,
  );
  const counts = decisions.counts(10_000);
  expect(Math.abs((counts["a/m"] ?? 0) - 6_000)).toBeLessThan(150);
  expect(Math.abs((counts["b/m"] ?? 0) - 3_000)).toBeLessThan(150);
  expect(Math.abs((counts["c/m"] ?? 0) - 1_000)).toBeLessThan(150);
});

it("Retries back off exponentially with jitter, starting at 250 ms and capped at 8 s (E2)", async () => {
  const policy = { ...PRESET, ...NO_BENCH, max_attempts: 20, retry: { max_retries: 10 } };
  await using decisions = new Decisions([A], policy);
  const most = [250, 500, 1_000, 2_000, 4_000, 8_000, 8_000];
  const jittered = new Set<number>();
  for (let round = 0; round < 20; round += 1) {
    let decided = decisions.decide();
    for (const [retry, full] of most.entries()) {
      decided = decisions.decide({}, { decided, error: ErrorClass.SERVER_ERROR });
      const delay = Number(attemptOf(decided).delayMs);
      expect(delay).toBeGreaterThanOrEqual(full / 2);
      expect(delay).toBeLessThanOrEqual(full);
      if (retry === 0) jittered.add(delay);
    }
  }
  expect(jittered.size).toBeGreaterThan(10);
});

it("A request makes at most 6 provider attempts, and the next model is the heaviest left (E3, E4, S2)", async () => {
  const policy = { ...PRESET, ...NO_BENCH, retry: { max_retries: 1 } };
  const deployments = [
    { ...A, weight: 1_000_000 },
    { ...B, weight: 2 },
    { ...C, weight: 3 },
    { provider: "d", model: "m", weight: 1 },
  ];
  await using decisions = new Decisions(deployments, policy);
  let decided = decisions.decide();
  const called: string[] = [];
  while (decided.decision.case === "attempt") {
    called.push(decided.decision.value.provider);
    decided = decisions.decide({}, { decided, error: ErrorClass.SERVER_ERROR });
  }
  expect(called).toEqual(["a", "a", "c", "c", "b", "b"]);
});

it("Models whose family has no embeddings API (Azure OpenAI, Anthropic, Bedrock, Vertex) are skipped (R5)", async () => {
  const deployments = ["azure", "claude", "aws", "google", "open"].map((provider) => ({
    provider,
    model: "m",
  }));
  const key = { credential: { env: "SCENE_UNSET" } };
  await using decisions = new Decisions(deployments, PRESET, {
    azure: { ...key, family: "azure_openai", api_version: "2024-10-21" },
    claude: { ...key, family: "anthropic" },
    aws: { ...key, family: "bedrock", region: "eu-west-1" },
    google: { ...key, family: "vertex", project: "p", location: "europe-west1" },
  });
  const { groups } = await decisions.explain({ endpoint: Endpoint.EMBEDDINGS });
  const verdicts = groups[0]?.candidates.map(({ deployment, verdict, rule }) => [deployment, verdict, rule]);
  expect(verdicts).toEqual([
    ["azure/m", "filtered", "R5 does not serve the endpoint"],
    ["claude/m", "filtered", "R5 does not serve the endpoint"],
    ["aws/m", "filtered", "R5 does not serve the endpoint"],
    ["google/m", "filtered", "R5 does not serve the endpoint"],
    ["open/m", "chosen", ""],
  ]);
  const chat = await decisions.explain();
  expect(chat.groups[0]?.candidates.filter(({ rule }) => rule.startsWith("R5"))).toEqual([]);
});

it.each([
  ["itself", { first: "first" }, /falls back to itself: first/],
  ["a loop of two", { first: "second", second: "first" }, /loop: first -> second -> first/],
  [
    "a loop of three",
    { first: "second", second: "third", third: "first" },
    /first -> second -> third -> first/,
  ],
])(
  "A group cannot fall back to itself, and a loop is refused when you save it: %s (G1)",
  (_, fallbacks, message) => {
    for (const kind of ["general", "context", "content"]) {
      const groups = ["first", "second", "third"].map((name) => {
        const to = (fallbacks as Record<string, string>)[name];
        return { name, deployments: [A], policy: to === undefined ? {} : { fallback: { [kind]: to } } };
      });
      expect(faultsOf(groups, ["first"])).toMatch(message);
    }
  },
);

it("Fallback groups are in the same project (G1)", () => {
  const groups = [
    { name: "mine", project: "p", deployments: [A], policy: { fallback: { general: "theirs" } } },
    { name: "theirs", project: "q", deployments: [A] },
  ];
  const projects = [{ name: "p" }, { name: "q" }];
  expect(faultsOf(groups, [], { projects })).toMatch(/policy\.fallback\.general: .*nothing crosses projects/);
});

it("A group is not deleted while a key is granted it (K4)", () => {
  const groups = [{ name: "kept", deployments: [A] }];
  expect(faultsOf(groups, ["kept"])).toBe("");
  expect(faultsOf(groups, ["kept", "deleted"])).toMatch(/groups\[1\]: unknown group "deleted"/);
});
