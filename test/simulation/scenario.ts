import { resolvePolicy } from "@switchyard/config";
import {
  deploymentScope,
  groupKey,
  modelScope,
  providerScope,
  type CallerKey,
  type ConfigSnapshot,
  type Deployment,
  type Endpoint,
  type ErrorClass,
  type Group,
  type Policy,
  type Strategy,
} from "@switchyard/core";
import { create } from "@bufbuild/protobuf";
import { PolicySchema, Preset } from "@switchyard/proto/config/v1/policy";
import { seededRandom } from "@switchyard/testkit";

/** When every simulation begins, ms since the epoch: the start of a minute. */
export const START = 1_800_000_000_000;

/** How long requests arrive, ms, and how many a second. */
export const DURATION_MS = 60_000;
export const REQUESTS_PER_SECOND = 20;

/** How a provider behaves. */
export interface ProviderScript {
  readonly latencyMs: number;
  /** Share of answers that fail by themselves. */
  readonly failureRate: number;
  /** Requests a minute after which it answers 429; undefined = no limit. */
  readonly rpm: number | undefined;
  /** From when to when all its answers are `error`, ms from the start; undefined = never. */
  readonly outage: { readonly from: number; readonly to: number; readonly error: ErrorClass } | undefined;
}

/** All that a seed says about one simulation. */
export interface Scenario {
  readonly seed: number;
  readonly strategy: Strategy;
  readonly preset: string;
  readonly config: ConfigSnapshot;
  readonly group: Group;
  readonly keys: readonly CallerKey[];
  readonly providers: ReadonlyMap<string, ProviderScript>;
  readonly routers: number;
  /** How many of them no request comes to: fewer than all. */
  readonly idleRouters: number;
  readonly forwarders: number;
  /** Longest way of a message, ms. */
  readonly messageMs: number;
  /** Share of load reports that are lost. */
  readonly lostReports: number;
  /** Chance in [0, 1) for what happens while it runs. */
  readonly random: () => number;
}

const PRESETS = [
  { name: "group_failover", preset: Preset.GROUP_FAILOVER },
  { name: "weighted_primary", preset: Preset.WEIGHTED_PRIMARY },
  { name: "cooldown_pool", preset: Preset.COOLDOWN_POOL },
  { name: "sticky_list", preset: Preset.STICKY_LIST },
] as const;
const ENDPOINTS: ReadonlySet<Endpoint> = new Set<Endpoint>(["chat", "embeddings", "responses", "messages"]);
const NO_ENDPOINTS: ReadonlySet<Endpoint> = new Set<Endpoint>();
const KEYS = 5;
const OUTAGES: readonly ErrorClass[] = ["server_error", "unreachable", "timeout"];

/** The scenario of a seed: the same world under every strategy. */
export function scenarioOf(seed: number, strategy: Strategy): Scenario {
  // Seeds are counted from 1: mixed first, since neighbours would begin alike.
  const random = seededRandom(Math.imul(seed, 0x9e3779b1));
  const between = (low: number, high: number): number => low + Math.floor(random() * (high - low + 1));
  const { name, preset } = PRESETS[between(0, 3)] ?? PRESETS[0];
  const count = between(3, 5);
  const limited = between(0, 2 * count);
  const isLimitKnown = random() < 0.5;
  const providers = new Map<string, ProviderScript>();
  const deployments = Array.from({ length: count }, (_, index): Deployment => {
    const provider = `p${index}`;
    const from = 15_000 + between(0, 5_000);
    const error = OUTAGES[between(0, OUTAGES.length - 1)] ?? "server_error";
    providers.set(provider, {
      latencyMs: between(20, 400),
      failureRate: between(0, 2) / 1_000,
      rpm: index === limited ? between(30, 300) : undefined,
      // The first one always has an outage: how it is left and found again is what strategies differ in.
      outage: index === 0 ? { from, to: from + 15_000, error } : undefined,
    });
    const rpm = isLimitKnown ? providers.get(provider)?.rpm : undefined;
    const price = { input: between(1, 10), output: between(1, 30) };
    return deploymentAt(provider, between(1, 4), price, rpm);
  });
  const policy = policyOf(preset, strategy, random);
  const key = groupKey("p", "g");
  const group: Group = { key, name: "g", project: "p", deployments, policy };
  const routers = between(1, 3);
  return {
    seed,
    strategy,
    preset: name,
    group,
    config: configOf(group),
    keys: Array.from({ length: KEYS }, (_, index) => callerOf(`k${index}`)),
    providers,
    routers,
    idleRouters: seed % 3 === 0 ? routers - 1 : 0,
    forwarders: between(1, 3),
    messageMs: between(1, 20),
    lostReports: random() < 0.3 ? 0.05 : 0,
    random,
  };
}

/** A preset's policy under a strategy, with the refinements that are off in presets on in some seeds. */
function policyOf(preset: Preset, strategy: Strategy, random: () => number): Policy {
  const base = resolvePolicy(create(PolicySchema, { preset }));
  const chance = (share: number): boolean => random() < share;
  const ramp = chance(0.3) ? [5, 25, 50, 100] : [];
  const probeShare = chance(0.5) ? 0.05 : base.bench.probeShare;
  const learn = chance(0.3);
  const budget = chance(0.2) ? { share: 0.2, perSecond: 10 } : undefined;
  const by = chance(0.2) ? "session" : "none";
  return {
    ...base,
    strategy,
    affinity: { by, expression: undefined },
    retry: { ...base.retry, budget },
    bench: { ...base.bench, ramp, probeShare, rateLimitSkip: { ...base.bench.rateLimitSkip, learn } },
  };
}

function deploymentAt(
  provider: string,
  weight: number,
  price: Deployment["price"],
  rpm: number | undefined,
): Deployment {
  const id = `${provider}/m`;
  return {
    id,
    provider,
    model: "m",
    family: "openai",
    weight,
    paused: false,
    type: undefined,
    price,
    limits: rpm === undefined ? undefined : { rpm, tpm: undefined },
    native: ENDPOINTS,
    translated: NO_ENDPOINTS,
    scopes: {
      deployment: deploymentScope(groupKey("p", "g"), id),
      model: modelScope(provider, "m"),
      provider: providerScope(provider),
    },
  };
}

function configOf(group: Group): ConfigSnapshot {
  return {
    revision: 1,
    hash: "000000000000",
    groups: new Map([[group.key, group]]),
    direct: new Map(),
    keys: new Map(),
    defaultFallbacks: new Map(),
  };
}

function callerOf(name: string): CallerKey {
  return {
    name,
    project: "p",
    team: undefined,
    groups: ["g"],
    grants: new Set(["g"]),
    ignoreModel: false,
    allowDirect: false,
    roles: new Set(["caller"] as const),
    recording: "full",
  };
}
