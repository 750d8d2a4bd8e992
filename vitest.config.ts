import { join } from "node:path";
import { defineConfig } from "vitest/config";

const everywhere = (kind: string): string[] => [
  `{packages/*/test,services/*/test,test}/**/*.${kind}.test.ts`,
];

/** What holds times and memory against bounds, which a neighbour's work would spoil. */
const MEASURE = ["bench-propagation", "config-over-nats", "slow-readers"].map(
  (name) => `test/chaos/${name}.e2e.test.ts`,
);

export default defineConfig({
  test: {
    // For the product's processes that tests start by the hundred: sources are stripped and compiled once.
    env: { NODE_COMPILE_CACHE: join(import.meta.dirname, ".cache/compile") },
    // Most tests wait for sockets and clocks rather than for a core.
    maxWorkers: 3,
    unstubEnvs: true,
    reporters: ["default", "./test/summary-reporter.ts"],
    coverage: {
      provider: "v8",
      include: ["packages/*/src/**/*.ts", "services/*/src/**/*.ts"],
      exclude: ["packages/proto/src/gen/**"],
      thresholds: { lines: 60 },
    },
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: everywhere("unit"),
          // Property tests look at thousands of cases; a busy machine needs its time.
          testTimeout: 20_000,
          // Pure code shares its modules from file to file: reading them anew for each was most of the time.
          isolate: false,
          sequence: { groupOrder: 0 },
        },
      },
      {
        extends: true,
        test: {
          name: "integration",
          include: everywhere("integration"),
          globalSetup: ["test/nats.global-setup.ts"],
          testTimeout: 40_000,
          hookTimeout: 60_000,
          // Files of a worker share what is dear to start: see test/support/shared-cluster.ts.
          isolate: false,
          sequence: { groupOrder: 1 },
        },
      },
      {
        extends: true,
        test: {
          name: "e2e",
          include: everywhere("e2e"),
          exclude: MEASURE,
          testTimeout: 90_000,
          hookTimeout: 90_000,
          sequence: { groupOrder: 2 },
        },
      },
      {
        extends: true,
        test: {
          name: "alone",
          include: MEASURE,
          testTimeout: 90_000,
          hookTimeout: 90_000,
          fileParallelism: false,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});
