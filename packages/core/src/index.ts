// Symbols above the line are what services build on.
export {
  appendAttempt,
  EMPTY_HISTORY,
  wasCalled,
  type AttemptOutcome,
  type FailedAttempt,
  type FallbackKind,
  type History,
  type Hop,
} from "./domain/attempt.ts";
export {
  EMPTY_HEALTH,
  type Bench,
  type BenchEntry,
  type BenchReason,
  type BenchScope,
  type HealthSnapshot,
} from "./domain/bench.ts";
export {
  groupKey,
  type CallerKey,
  type CallerRole,
  type ConfigSnapshot,
  type Group,
} from "./domain/config-snapshot.ts";
export type {
  AttemptDecision,
  Decided,
  Decision,
  Effect,
  RefusalCode,
  RefuseDecision,
} from "./domain/decision.ts";
export type { Deployment, DeploymentScopes, Price } from "./domain/deployment.ts";
export {
  ENDPOINTS,
  isNativeEndpoint,
  typeOfEndpoint,
  type DeploymentType,
  type Endpoint,
} from "./domain/endpoint.ts";
export {
  COUNTED_CLASSES,
  ERROR_CLASSES,
  MERIT_CLASSES,
  RETRYABLE_CLASSES,
  verdictOf,
  type ErrorClass,
  type ErrorClassSet,
  type Verdict,
} from "./domain/error-class.ts";
export type { CandidateExplanation, Explanation, GroupExplanation } from "./domain/explanation.ts";
export { EMPTY_LOAD, type LoadSnapshot } from "./domain/load.ts";
export type { Outcome } from "./domain/outcome.ts";
export {
  STRATEGIES,
  type BenchPolicy,
  type FailoverPolicy,
  type FallbackPolicy,
  type Policy,
  type RetryPolicy,
  type Strategy,
} from "./domain/policy.ts";
export type { Clock, EpochMs, Random } from "./domain/ports.ts";
export type { AuthenticatedRequest, RequestFacts } from "./domain/request-facts.ts";
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
  activeBenches,
  applyBench,
  benchByHand,
  endPolicyBench,
  mergeHealth,
  pruneHealth,
  unbenchByHand,
} from "./health/snapshot.ts";
export { outcomeName } from "./trace/attempt-outcome.ts";
export { formatAttemptsHeader, MAX_HEADER_BYTES, type AttemptRow } from "./trace/attempts-header.ts";

// Symbols below are for those who build the core's inputs: config, ledgers, and the tests of both.
export { deploymentScope, modelScope, providerScope } from "./domain/bench.ts";
export { directKey, groupOf } from "./domain/config-snapshot.ts";
export { draw, STREAMS, type Stream } from "./domain/random.ts";
export { LEASE_MS } from "./decide/answer.ts";
export { MAX_HOPS } from "./decide/fallback.ts";
export { MAX_WAIT_MS } from "./escalation/backoff.ts";
export { MAX_RETRY_AFTER_MS } from "./escalation/next-step.ts";
export { benchedUntil, benchesAtAll } from "./health/benched-until.ts";
export { CLEARED_MEMORY_MS } from "./health/snapshot.ts";
export { MAX_WINDOW_FAILURES, type FailureWindow } from "./health/window.ts";
export { SUPPORTED_STRATEGIES } from "./strategies/registry.ts";
