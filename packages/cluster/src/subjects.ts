/** NATS subjects and buckets (contracts.md section 5). */
export const SUBJECTS = {
  /** Attempt outcomes; `OutcomeBatch`. */
  outcomes: "switchyard.v1.outcome.>",
  outcomesOf: (forwarder: string): string => `switchyard.v1.outcome.${forwarder}`,
  /** Bench and unbench; `BenchEvent`. */
  benches: "switchyard.v1.bench.>",
  benchesOf: (health: string): string => `switchyard.v1.bench.${health}`,
  /** Tokens and spend; `UsageEvent`. */
  usage: "switchyard.v1.usage.>",
  usageOf: (forwarder: string): string => `switchyard.v1.usage.${forwarder}`,
  /** Providers without a credential; `ProviderReadiness`. */
  readiness: "switchyard.v1.ready.>",
  readinessOf: (forwarder: string): string => `switchyard.v1.ready.${forwarder}`,
} as const;

export const BUCKETS = {
  config: "switchyard_config",
  health: "switchyard_health",
} as const;
