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
  /** Calls under way and how fast they are; `LoadReport`. */
  load: "switchyard.v1.load.>",
  loadOf: (forwarder: string): string => `switchyard.v1.load.${forwarder}`,
  /** Routers that are there; `RouterPresence`. */
  routers: "switchyard.v1.router.>",
  routersOf: (router: string): string => `switchyard.v1.router.${router}`,
} as const;

export const BUCKETS = {
  config: "switchyard_config",
  health: "switchyard_health",
  /** Where responses are kept (P8); `StoredResponse`. */
  responses: "switchyard_responses",
} as const;
