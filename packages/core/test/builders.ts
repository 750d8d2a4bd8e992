import {
  COUNTED_CLASSES,
  decide,
  deploymentScope,
  directKey,
  EMPTY_HEALTH,
  EMPTY_HISTORY,
  EMPTY_LOAD,
  ERROR_CLASSES,
  type Bench,
  type BenchPolicy,
  type CallerKey,
  type ConfigSnapshot,
  type DecideInput,
  type Decided,
  type Deployment,
  type Endpoint,
  type ErrorClass,
  type FailedAttempt,
  type FailoverPolicy,
  type FallbackPolicy,
  type Group,
  groupKey,
  type HealthSnapshot,
  MERIT_CLASSES,
  modelScope,
  type Policy,
  providerScope,
  type RequestFacts,
  RETRYABLE_CLASSES,
  type RetryPolicy,
} from "../src/index.ts";

/** A policy override: nested parts override field by field. */
export type PolicyOverride = Partial<Omit<Policy, "retry" | "failover" | "bench" | "fallback">> & {
  readonly retry?: Partial<RetryPolicy>;
  readonly failover?: Partial<FailoverPolicy>;
  readonly bench?: Partial<BenchPolicy>;
  readonly fallback?: Partial<FallbackPolicy>;
};

const GROUP_FAILOVER: Policy = {
  strategy: "weighted",
  zeroWeight: "off",
  skipEmbeddingsFamilies: new Set(["azure_openai", "anthropic", "bedrock", "vertex"]),
  translate: true,
  retry: {
    maxRetries: 2,
    on: RETRYABLE_CLASSES,
    initialBackoffMs: 250,
    maxBackoffMs: 8_000,
    multiplier: 2,
    jitter: true,
    respectRetryAfter: true,
  },
  failover: {
    on: new Set(ERROR_CLASSES.filter((name) => !MERIT_CLASSES.has(name) && name !== "cancelled")),
    nativeOn: undefined,
    maxDeployments: 0,
    order: "weight",
    timeoutMultiplier: 1,
    waitMs: 0,
  },
  maxAttempts: 6,
  requestTimeoutMs: 60_000,
  attemptTimeoutMs: 0,
  attemptTimeoutWhen: "always",
  connectTimeoutMs: 10_000,
  firstTokenTimeoutMs: 0,
  streamIdleTimeoutMs: 300_000,
  timeoutCoversBody: false,
  onTimeout: "failover",
  maxRetryBodyBytes: 0,
  bench: {
    failures: 3,
    windowMs: 60_000,
    cooloffMs: 30_000,
    scope: "deployment",
    on: COUNTED_CLASSES,
    rateLimitSkip: { defaultMs: 0, maxMs: 0 },
    quotaCooloffMs: 0,
    probeShare: 0,
    whenAllBenched: "try_soonest",
  },
  fallback: { general: undefined, context: undefined, content: undefined, quota: undefined },
};

/** The values of the default preset (`group_failover`), and what is to differ from them. */
export function policy(override: PolicyOverride = {}): Policy {
  const base = GROUP_FAILOVER;
  return {
    ...base,
    ...override,
    retry: { ...base.retry, ...override.retry },
    failover: { ...base.failover, ...override.failover },
    bench: { ...base.bench, ...override.bench },
    fallback: { ...base.fallback, ...override.fallback },
  };
}

const CHAT: ReadonlySet<Endpoint> = new Set<Endpoint>(["chat", "embeddings"]);
const NONE: ReadonlySet<Endpoint> = new Set<Endpoint>();

/** A deployment named `provider/model`; its scopes are set by {@link group}. */
export function deployment(id: string, override: Partial<Deployment> = {}): Deployment {
  const slash = id.indexOf("/");
  return {
    id,
    provider: slash < 0 ? id : id.slice(0, slash),
    model: slash < 0 ? "m" : id.slice(slash + 1),
    family: "openai",
    weight: 1,
    paused: false,
    type: undefined,
    price: undefined,
    native: CHAT,
    translated: NONE,
    scopes: { deployment: "", model: "", provider: "" },
    ...override,
  };
}

/** A group of project `p`; a deployment given as text is one of weight 1. */
export function group(
  name: string,
  deployments: readonly (Deployment | string)[],
  override: PolicyOverride = {},
): Group {
  const at = groupKey("p", name);
  return {
    key: at,
    name,
    project: "p",
    policy: policy(override),
    deployments: deployments.map((given) => {
      const one = typeof given === "string" ? deployment(given) : given;
      const scopes = {
        deployment: deploymentScope(at, one.id),
        model: modelScope(one.provider, one.model),
        provider: providerScope(one.provider),
      };
      return { ...one, scopes };
    }),
  };
}

/** A key of project `p` that may call these groups. */
export function key(groups: readonly string[], override: Partial<CallerKey> = {}): CallerKey {
  return {
    name: "k",
    project: "p",
    team: undefined,
    groups,
    grants: new Set(groups),
    ignoreModel: false,
    allowDirect: false,
    roles: new Set(["caller"] as const),
    recording: "full",
    ...override,
  };
}

/** A config of these groups, with a direct group (R9) for each provider's model. */
export function config(groups: readonly Group[], defaultFallbacks: readonly string[] = []): ConfigSnapshot {
  const direct = new Map<string, Group>();
  for (const { deployments, policy: of } of groups) {
    for (const one of deployments) {
      const at = directKey("p", one.provider, one.model);
      const scopes = { ...one.scopes, deployment: deploymentScope(at, one.id) };
      const fallback = { general: undefined, context: undefined, content: undefined, quota: undefined };
      if (direct.has(at)) continue;
      direct.set(at, {
        key: at,
        name: `${one.provider}/${one.model}`,
        project: "p",
        policy: { ...of, fallback },
        deployments: [{ ...one, scopes }],
      });
    }
  }
  return {
    revision: 1,
    hash: "000000000000",
    groups: new Map(groups.map((one) => [one.key, one])),
    direct,
    keys: new Map(),
    defaultFallbacks: new Map([["p", defaultFallbacks]]),
  };
}

/** When every test's request arrives. */
export const T0 = 1_800_000_000_000;

export function facts(override: Partial<RequestFacts> = {}): RequestFacts {
  return {
    id: "r1",
    endpoint: "chat",
    path: "/v1/chat/completions",
    model: "g",
    stream: false,
    bodyBytes: 100,
    storedResponse: false,
    ownKeyProvider: undefined,
    arrivedAt: T0,
    deadline: undefined,
    ...override,
  };
}

/** The first decision of a request for group `g` by a key that may call all groups of the config. */
export function input(snapshot: ConfigSnapshot, override: Partial<DecideInput> = {}): DecideInput {
  const names = [...snapshot.groups.values()].map((one) => one.name);
  return {
    config: snapshot,
    health: EMPTY_HEALTH,
    load: EMPTY_LOAD,
    request: { facts: facts(), key: key(names) },
    history: EMPTY_HISTORY,
    now: T0,
    seed: 1,
    decisionId: "d1",
    explain: false,
    ...override,
  };
}

/** Benches, by scope key, as a policy of `group` made them. */
export function benched(until: Readonly<Record<string, number>>, of: Partial<Bench> = {}): HealthSnapshot {
  const entries = Object.entries(until).map(([at, end]) => {
    const bench: Bench = {
      key: at,
      scope: "deployment",
      until: end,
      since: T0 - 1_000,
      reason: "failures",
      group: "p/g",
      ...of,
    };
    const manual = bench.reason === "manual";
    const entry = {
      policy: manual ? undefined : bench,
      manual: manual ? bench : undefined,
      policyClearedAt: 0,
      manualClearedAt: 0,
    };
    return [at, entry] as const;
  });
  return { version: 1, benches: new Map(entries) };
}

/** How an attempt that a decision asked for ends badly. */
export interface Failure {
  readonly error: ErrorClass;
  readonly retryAfterMs?: number;
  readonly status?: number;
  /** How long the attempt took, ms. */
  readonly tookMs?: number;
}

/** The input of the decision after `decided`'s attempt failed: time has passed, the history has grown. */
export function after(before: DecideInput, decided: Decided, failure: Failure): DecideInput {
  const { decision } = decided;
  if (decision.kind !== "attempt") throw new Error(`nothing was attempted: ${decision.code}`);
  const startedAt = before.now + decision.delayMs;
  const endedAt = startedAt + (failure.tookMs ?? 10);
  const attempt: FailedAttempt = {
    decision: before.decisionId,
    group: decision.group.key,
    deployment: decision.deployment.id,
    error: failure.error,
    status: failure.status,
    retryAfterMs: failure.retryAfterMs,
    startedAt,
    endedAt,
  };
  const history = { ...decided.history, attempts: [...decided.history.attempts, attempt] };
  return { ...before, history, now: endedAt, decisionId: `${before.decisionId}+` };
}

/** Decides, and fails each attempt in turn; the decisions, the first one included. */
export function run(first: DecideInput, failures: readonly Failure[]): readonly Decided[] {
  let at = first;
  const all = [decide(at)];
  for (const failure of failures) {
    at = after(at, all[all.length - 1] as Decided, failure);
    all.push(decide(at));
  }
  return all;
}

/** A decision in short: `a/m`, `a/m +250`, or `503 code`. */
export function brief({ decision }: Decided): string {
  if (decision.kind === "refuse") return `${decision.status} ${decision.code}`;
  const delay = decision.delayMs === 0 ? "" : ` +${decision.delayMs}`;
  return `${decision.deployment.id}${delay}`;
}
