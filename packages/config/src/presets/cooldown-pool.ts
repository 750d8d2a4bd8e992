import { RETRYABLE_CLASSES } from "@switchyard/core";
import { MOVING_CLASSES, PROVIDER_FAULT_CLASSES } from "./weighted-primary.ts";

/** Document C (section 10): a shuffled pool with cool-downs. */
export const COOLDOWN_POOL = {
  strategy: "shuffle",
  weights: "relative",
  zero_weight: "off",
  skip_embeddings_families: [],
  affinity: { by: "none" },
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
    on: [...MOVING_CLASSES, "timeout"],
    max_deployments: 0,
    order: "strategy",
    timeout_multiplier: 1,
    wait: "0s",
  },
  hedge: { enabled: false, share: 0.02 },
  translate: true,
  max_attempts: 3,
  request_timeout: "60s",
  attempt_timeout: "0s",
  connect_timeout: "10s",
  first_token_timeout: "0s",
  stream_idle_timeout: "300s",
  timeout_covers_body: false,
  on_timeout: "failover",
  max_retry_body_bytes: 0,
  bench: {
    failures: 1,
    window: "60s",
    cooloff: "60s",
    scope: "deployment",
    on: [...PROVIDER_FAULT_CLASSES, "rate_limited", "quota_exhausted"],
    rate_limit_skip: { default: "10s", max: "60s", learn: false },
    quota_cooloff: "0s",
    probe_share: 0.05,
    ramp: [],
    when_all_benched: "refuse",
  },
  cache: { enabled: false, lifetime: "300s" },
};
