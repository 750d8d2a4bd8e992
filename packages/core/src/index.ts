// Symbols above the line are what services build on.
export { AFFINITY_KINDS, type AffinityHashes, type AffinityKind } from "./domain/affinity.ts";
export {
  appendAttempt,
  EMPTY_HISTORY,
  wasCalled,
  type AttemptOutcome,
  type FailedAttempt,
  type FallbackKind,
  type History,
  type Hop,
  type RunningAttempt,
} from "./domain/attempt.ts";
export {
  EMPTY_HEALTH,
  type Bench,
  type BenchEntry,
  type BenchReason,
  type BenchScope,
  type HealthSnapshot,
  type ProbeLease,
  type Ramp,
} from "./domain/bench.ts";
export { BENCH_TABLE, type AtOnce, type BenchTable, type ClassBench } from "./domain/bench-table.ts";
export {
  groupKey,
  type CallerKey,
  type CallerRole,
  type CallerUser,
  type ConfigSnapshot,
  type Group,
  type PlainData,
} from "./domain/config-snapshot.ts";
export type {
  AttemptDecision,
  Decided,
  Decision,
  Effect,
  RefusalCode,
  RefuseDecision,
} from "./domain/decision.ts";
export type { Deployment, DeploymentScopes, Price, RateLimits } from "./domain/deployment.ts";
export { tokenCost, type TokenCounts } from "./domain/token-cost.ts";
export { ENDPOINTS, type DeploymentType, type Endpoint } from "./domain/endpoint.ts";
export {
  COUNTED_CLASSES,
  ERROR_CLASSES,
  MERIT_CLASSES,
  RETRYABLE_CLASSES,
  type ErrorClass,
  type ErrorClassSet,
  type Verdict,
} from "./domain/error-class.ts";
export type { CandidateExplanation, Explanation, GroupExplanation } from "./domain/explanation.ts";
export {
  EMPTY_LOAD,
  minuteOf,
  type BudgetLevel,
  type DeploymentLoad,
  type LoadSnapshot,
  type ProbeInFlight,
} from "./domain/load.ts";
export { expectedTokens } from "./domain/expected-tokens.ts";
export { hashKey } from "./domain/hash-key.ts";
export type { Outcome } from "./domain/outcome.ts";
export {
  STRATEGIES,
  type AffinityPolicy,
  type BenchPolicy,
  type FailoverPolicy,
  type FallbackPolicy,
  type HedgePolicy,
  type Policy,
  type RateLimitSkipPolicy,
  type RetryBudgetPolicy,
  type RetryPolicy,
  type Strategy,
} from "./domain/policy.ts";
export type { Clock, EpochMs, Random } from "./domain/ports.ts";
export type { AuthenticatedRequest, RequestFacts } from "./domain/request-facts.ts";
export { affinityValue, type AffinityValue } from "./affinity/affinity-value.ts";
export { expressionHash, SESSION_HEADERS, sessionHash } from "./affinity/key-hash.ts";
export { affinityNeeds, type AffinityNeeds } from "./affinity/needs.ts";
export { parseExpression, type ParsedExpression } from "./affinity/parse-expression.ts";
export { selectFromKey, selectorReads, type SelectableRequest, type Selector } from "./affinity/selector.ts";
export { decide } from "./decide/decide.ts";
export type { DecideInput } from "./decide/input.ts";
export {
  addBench,
  addManualBench,
  affectsHealth,
  benchLookup,
  EMPTY_HEALTH_STATE,
  expire,
  reduce,
  reduceAll,
  removeBenches,
  type BenchLookup,
  type HealthState,
  type Reduced,
  type Transition,
} from "./health/reduce.ts";
export {
  countProbers,
  grantProbes,
  PROBE_LEASE_MS,
  PROBE_MAX_MS,
  probeClaims,
  wantsProbes,
} from "./health/probe.ts";
export type { ProbeClaims } from "./health/probe.ts";
export { activeBenches, mergeHealth } from "./health/snapshot.ts";
export {
  LoadCounters,
  NOT_SERVED,
  type BegunCall,
  type CountedCall,
  type EndedCall,
} from "./load/counters.ts";
export { RecentMap } from "./load/bounded.ts";
export { LoadLedger, recordLoad, type LoadReads } from "./load/ledger.ts";
export { loadKeyLookup, type LoadKeyLookup } from "./load/load-key.ts";
export { REPORT_EVERY_MS, REPORT_TTL_MS, type LoadReport, type ReportedLoad } from "./load/report.ts";
export { LineFault } from "./replay/fields.ts";
export type { DecisionLine, DroppedLine, LogLine, LoggedCaller, OutcomeLine, Taken } from "./replay/line.ts";
export { Observed } from "./replay/observed.ts";
export { parseLine } from "./replay/parse-line.ts";
export { recordDecision, recordDropped, recordOutcome } from "./replay/record.ts";
export { callerLookup, verifyDecision, type CallerLookup, type Verified } from "./replay/redecide.ts";
export { Replay } from "./replay/replay.ts";
export type { ReplayChanges, ReplayReport } from "./replay/report.ts";
export type { Compared, Row, RowSide, Side } from "./replay/tally.ts";
export { outcomeName } from "./trace/attempt-outcome.ts";
export { formatAttemptsHeader, MAX_HEADER_BYTES, type AttemptRow } from "./trace/attempts-header.ts";

// Symbols below are for those who build the core's inputs: config, ledgers, and the tests of both.
export { highestScore } from "./affinity/rendezvous.ts";
export { deploymentScope, modelScope, providerScope, RAMP_STEP_MS } from "./domain/bench.ts";
export {
  expectedFirstTokenMs,
  LATENCY_HALF_LIFE_MS,
  requestsThisMinute,
  tokensThisMinute,
} from "./domain/load-readings.ts";
export { directKey } from "./domain/config-snapshot.ts";
export type { Stream } from "./domain/random.ts";
export { MAX_HOPS } from "./decide/fallback.ts";
export { benchedUntil } from "./health/benched-until.ts";
export { rampShare } from "./health/ramp.ts";
export type { FailureWindow } from "./health/window.ts";
export { HISTORY_MS } from "./load/ledger.ts";
export { MAX_LEASES, SETTLE_MS } from "./load/leases.ts";
export { SKETCH_SAMPLES, TimeSketch, timeBucket } from "./load/time-sketch.ts";
export { BUDGET_WINDOW_MS, budgetLevel } from "./load/retry-budget.ts";
