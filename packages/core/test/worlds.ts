import * as fc from "fast-check";
import {
  AFFINITY_KINDS,
  type DeploymentLoad,
  deploymentScope,
  ERROR_CLASSES,
  type ErrorClass,
  grantProbes,
  minuteOf,
  STRATEGIES,
} from "../src/index.ts";
import { benched, config, deployment, facts, group, input, key, T0 } from "./builders.ts";
import type { Failure } from "./builders.ts";

const names = ["g", "h", "i", "j", "k"];
const ids = ["a/m", "b/m", "c/m", "d/m", "a/n", "b/n"];

const fallback = fc.option(fc.constantFrom(...names), { nil: undefined });

const limits = fc.option(
  fc.record({
    rpm: fc.constantFrom(undefined, 1, 5, 100),
    tpm: fc.constantFrom(undefined, 50, 5_000),
  }),
  { nil: undefined, freq: 2 },
);

const price = fc.option(fc.record({ input: fc.nat({ max: 20 }), output: fc.nat({ max: 20 }) }), {
  nil: undefined,
});

const budget = fc.option(
  fc.record({ share: fc.constantFrom(0, 0.2, 1), perSecond: fc.constantFrom(0, 10) }),
  { nil: undefined, freq: 3 },
);

/** Groups that point at each other in every way, loops included: the core must end also where validation failed. */
const groupOf = (name: string) =>
  fc
    .record({
      deployments: fc.uniqueArray(
        fc.record({
          id: fc.constantFrom(...ids),
          weight: fc.integer({ min: 0, max: 3 }),
          paused: fc.boolean(),
          limits,
          price,
        }),
        { minLength: 1, maxLength: 6, selector: ({ id }) => id },
      ),
      strategy: fc.constantFrom(...STRATEGIES),
      by: fc.constantFrom("none", "none", ...AFFINITY_KINDS),
      zeroWeight: fc.constantFrom("off", "standby"),
      order: fc.constantFrom("weight", "strategy"),
      maxRetries: fc.integer({ min: 0, max: 3 }),
      budget,
      maxAttempts: fc.integer({ min: 1, max: 8 }),
      maxDeployments: fc.integer({ min: 0, max: 4 }),
      requestTimeoutMs: fc.constantFrom(0, 900, 60_000),
      attemptTimeoutMs: fc.constantFrom(0, 400, 30_000),
      waitMs: fc.constantFrom(0, 100),
      whenAllBenched: fc.constantFrom("try_soonest", "refuse"),
      probeShare: fc.constantFrom(0, 0.05, 1),
      ramp: fc.constantFrom([], [5, 25, 50, 100]),
      respectRetryAfter: fc.boolean(),
      onTimeout: fc.constantFrom("failover", "refuse"),
      general: fallback,
      context: fallback,
      content: fallback,
    })
    .map((made) =>
      group(
        name,
        made.deployments.map(({ id, ...one }) => deployment(id, one)),
        {
          strategy: made.strategy,
          affinity: { by: made.by, expression: made.by === "expression" ? "request.user.sub" : undefined },
          zeroWeight: made.zeroWeight,
          maxAttempts: made.maxAttempts,
          requestTimeoutMs: made.requestTimeoutMs,
          attemptTimeoutMs: made.attemptTimeoutMs,
          onTimeout: made.onTimeout,
          retry: {
            maxRetries: made.maxRetries,
            respectRetryAfter: made.respectRetryAfter,
            budget: made.budget,
          },
          failover: {
            order: made.order,
            maxDeployments: made.maxDeployments,
            waitMs: made.waitMs,
            timeoutMultiplier: 2,
          },
          bench: { whenAllBenched: made.whenAllBenched, probeShare: made.probeShare, ramp: made.ramp },
          fallback: { general: made.general, context: made.context, content: made.content },
        },
      ),
    );

const oneLoad: fc.Arbitrary<DeploymentLoad> = fc.record({
  inFlight: fc.nat({ max: 3 }),
  minute: fc.constantFrom(minuteOf(T0), minuteOf(T0) - 1),
  requests: fc.nat({ max: 6 }),
  tokens: fc.nat({ max: 6_000 }),
  samples: fc.constantFrom(0, 1, 19, 20, 500),
  firstTokenMs: fc.constantFrom(undefined, 20, 21, 900),
  perTokenMs: fc.constant(undefined),
  successes: fc.nat({ max: 9 }),
  failures: fc.nat({ max: 9 }),
  measuredAt: fc.constantFrom(T0, T0 - 90_000),
  countedAt: fc.constantFrom(T0, T0 - 90_000),
});

const loads = fc.uniqueArray(fc.tuple(fc.constantFrom(...ids.map((id) => `m:${id}`)), oneLoad), {
  selector: ([id]) => id,
});

/** A config, what is known of health and load, and a request for group `g`. */
export const world = fc
  .record({
    groups: fc.tuple(...names.map(groupOf)),
    defaults: fc.subarray(names),
    seed: fc.nat(),
    benches: fc.dictionary(
      fc.constantFrom(
        "m:a/m",
        "m:b/m",
        "p:c",
        "p:d",
        deploymentScope("p/g", "a/m"),
        deploymentScope("p/h", "b/m"),
      ),
      fc.constantFrom(T0 + 200, T0 + 5_000_000),
    ),
    rampSteps: fc.constantFrom(0, 4),
    routers: fc.constantFrom([], ["me"], ["me", "other"]),
    busy: fc.boolean(),
    notReady: fc.subarray(["a", "b", "c", "d"], { maxLength: 2 }),
    loads,
    affinity: fc.record({
      session: fc.option(fc.nat(), { nil: undefined }),
      conversation: fc.option(fc.nat(), { nil: undefined }),
    }),
    deadline: fc.constantFrom(undefined, T0 + 500),
  })
  .map((made) =>
    input(config(made.groups, made.defaults), {
      seed: made.seed,
      health: grantProbes(benched(made.benches, { rampSteps: made.rampSteps }), made.routers, T0),
      router: "me",
      load: {
        notReady: new Set(made.notReady),
        places: new Map(names.map((name) => [`probe|d:p/${name}:a/m`, 0.96] as const)),
        deployments: new Map(made.loads),
        probes: new Map(made.busy ? [["p:c", { decision: "x", until: T0 + 1_000 }]] : []),
        budgets: new Map([["p/g", { level: 1.5, at: T0 }]]),
      },
      request: { facts: facts({ deadline: made.deadline, affinity: made.affinity }), key: key(["g"]) },
    }),
  );

/** How an attempt ends badly. */
export const failure: fc.Arbitrary<Failure> = fc.record(
  {
    error: fc.constantFrom<ErrorClass>(
      ...ERROR_CLASSES,
      "server_error",
      "overloaded",
      "rate_limited",
      "not_ready",
    ),
    retryAfterMs: fc.constantFrom(1, 300, 10_000, 900_000, Number.NaN),
    tookMs: fc.constantFrom(0, 10, 400),
  },
  { requiredKeys: ["error"] },
);
