// Prints ns per outcome. Run: node packages/core/test/bench/health.ts
import {
  benchLookup,
  EMPTY_HEALTH_STATE,
  formatAttemptsHeader,
  type Outcome,
  reduce,
  reduceAll,
} from "../../src/index.ts";
import { config, group, T0 } from "../builders.ts";

const CALLS = 200_000;
const lookup = benchLookup(config([group("g", ["a/m", "b/m"])]));

function outcome(index: number, error?: "server_error"): Outcome {
  return {
    decision: `d${index}`,
    group: "p/g",
    deployment: "a/m",
    error,
    status: undefined,
    retryAfterMs: undefined,
    decidedAt: T0,
    at: T0 + index,
    probe: false,
    ownKey: false,
  };
}

function report(name: string, run: () => void, calls: number): void {
  run();
  const start = process.hrtime.bigint();
  run();
  console.log(`${name.padEnd(28)} ${(Number(process.hrtime.bigint() - start) / calls).toFixed(0)} ns`);
}

const good = Array.from({ length: CALLS }, (_, index) => outcome(index));
const bad = Array.from({ length: CALLS }, (_, index) => outcome(index, "server_error"));
const end = T0 + CALLS;
report(
  "success, one by one",
  () => {
    for (const one of good) reduce(EMPTY_HEALTH_STATE, one, lookup, end);
  },
  CALLS,
);
report("success, in a batch", () => reduceAll(EMPTY_HEALTH_STATE, good, lookup, end), CALLS);
report("failure, in a batch", () => reduceAll(EMPTY_HEALTH_STATE, bad, lookup, end), CALLS);
const rows = [
  {
    deployment: "a/m",
    outcome: "retryable",
    ms: 12,
    status: 429,
    error: "rate_limited",
    message: "slow down",
  },
  { deployment: "b/m", outcome: "ok", ms: 300, status: 200 },
] as const;
report(
  "attempts header, two rows",
  () => {
    for (let call = 0; call < CALLS; call += 1) formatAttemptsHeader(rows);
  },
  CALLS,
);
