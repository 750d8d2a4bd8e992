import { RETRYABLE_CLASSES } from "@switchyard/core";
import type { ErrorClass } from "@switchyard/core";

/** What document B moves on; C and D add `timeout` (section 10). */
export const MOVING_CLASSES: readonly ErrorClass[] = [
  "unreachable",
  "overloaded",
  "server_error",
  "not_implemented",
  "stream_error",
  "invalid_response",
  "rate_limited",
  "quota_exhausted",
];

/** What document B counts for benching; C adds `rate_limited` and `quota_exhausted` (section 10). */
export const PROVIDER_FAULT_CLASSES: readonly ErrorClass[] = [
  "unreachable",
  "overloaded",
  "server_error",
  "not_implemented",
  "stream_error",
  "invalid_response",
  "timeout",
];

/** Document B (section 10): a primary and its failover by percent. */
export const WEIGHTED_PRIMARY = {
  strategy: "weighted",
  weights: "percent",
  zero_weight: "standby",
  skip_embeddings_families: [],
  affinity: { by: "session" },
  retry: {
    max_retries: 0,
    on: [...RETRYABLE_CLASSES],
    initial_backoff: "250ms",
    max_backoff: "8s",
    multiplier: 2,
    jitter: true,
    // A 429's Retry-After makes a skip instead (B2).
    respect_retry_after: false,
  },
  failover: {
    on: [...MOVING_CLASSES],
    max_deployments: 2,
    order: "weight",
    timeout_multiplier: 1,
    wait: "0s",
  },
  hedge: { enabled: false, share: 0.02 },
  translate: true,
  max_attempts: 2,
  request_timeout: "60s",
  attempt_timeout: "60s",
  connect_timeout: "10s",
  first_token_timeout: "0s",
  stream_idle_timeout: "300s",
  timeout_covers_body: false,
  on_timeout: "refuse",
  max_retry_body_bytes: 8 * 1024 * 1024,
  bench: {
    failures: 5,
    window: "30s",
    cooloff: "30s",
    scope: "provider",
    on: [...PROVIDER_FAULT_CLASSES],
    rate_limit_skip: { default: "10s", max: "60s", learn: false },
    quota_cooloff: "60s",
    probe_share: 0,
    ramp: [],
    when_all_benched: "refuse",
  },
  cache: { enabled: false, lifetime: "300s" },
};
