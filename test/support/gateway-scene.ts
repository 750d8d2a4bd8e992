import { createHash } from "node:crypto";
import { createScriptedProvider } from "@switchyard/testkit";
import type { ScriptedProvider, ScriptedProviderOptions } from "@switchyard/testkit";
import { GatewayClient } from "./gateway-client.ts";
import type { Form, Gateway } from "./gateway-form.ts";

export type UpstreamName = "A" | "B" | "C";

/** Upstream keys that must never be seen by a caller or in a log. */
export const CANARIES: Readonly<Record<UpstreamName, string>> = {
  A: "UPKEY-A-9f31c0ffee5a",
  B: "UPKEY-B-77d0badcab1e",
  C: "UPKEY-C-10ccdeadbea7",
};

/** What credentials of scenes refer to. */
export const SCENE_ENV: Readonly<Record<string, string>> = {
  SCENE_UPKEY_A: CANARIES.A,
  SCENE_UPKEY_B: CANARIES.B,
  SCENE_UPKEY_C: CANARIES.C,
  // An AWS access key, as AWS's own tools print it.
  SCENE_AWS_A: JSON.stringify({
    AccessKeyId: "ASIASCENE00000000001",
    SecretAccessKey: `${CANARIES.A}+secret`,
    SessionToken: `${CANARIES.A}+session`,
  }),
};

/** The cases' set-up: no retries on the same deployment, one failure cools for 5 s, no jitter, strict order. */
const CASE_POLICY = {
  preset: "group_failover",
  zero_weight: "standby",
  retry: { max_retries: 0, jitter: false },
  bench: { failures: 1, window: "60s", cooloff: "5s" },
};

export interface SceneSpec {
  /** Groups have this preset and `policy` over it; neither the cases' own policy nor weights. */
  readonly preset?: string;
  /** The group's deployments as the config has them, by the names of their providers; instead of `deployments`. */
  readonly list?: (provider: (name: UpstreamName) => string) => readonly object[];
  /** The scene's groups as default fallbacks of a project of its own, in order (G3). */
  readonly defaultFallbacks?: readonly string[];
  /** `[A > B]`: the first serves, the others stand by in this order. Default A, B. */
  readonly order?: readonly UpstreamName[];
  /** `{A, B}`: equal weights. Instead of `order`. */
  readonly pool?: readonly UpstreamName[];
  /** Over the cases' own policy, nested fields one by one. */
  readonly policy?: Readonly<Record<string, unknown>>;
  /** Fields of `providers[]` by upstream, such as `family`. */
  readonly providers?: Readonly<Partial<Record<UpstreamName, object>>>;
  /** Fields of the group's deployments. */
  readonly deployments?: Readonly<Partial<Record<UpstreamName, object>>>;
  /** More groups, by the policy alone; they list the same upstreams. */
  readonly groups?: Readonly<Record<string, GroupSpec>>;
  /** Fields of the caller's key, such as `ignore_model`. */
  readonly key?: object;
  /** Fields of further keys with the same grants, reached by {@link Scene.caller}. */
  readonly callers?: readonly object[];
  /** Families that serve native endpoints, by the endpoint's name: {@link Scene.native} is its path. */
  readonly native?: Readonly<Record<string, readonly string[]>>;
  readonly upstream?: ScriptedProviderOptions;
}

export interface GroupSpec {
  readonly order: readonly UpstreamName[];
  readonly policy?: object;
  /** Instead of the scene's. */
  readonly deployments?: SceneSpec["deployments"];
}

/** What a scene adds to a config; names are unique in the run, so that scenes share a cluster. */
export interface Fragment {
  readonly projects: readonly object[];
  readonly providers: readonly object[];
  readonly groups: readonly object[];
  readonly keys: readonly object[];
  readonly native_endpoints: readonly object[];
}

/** A group of scripted upstreams behind a gateway, with a caller's key of its own. */
export class Scene extends GatewayClient {
  readonly form: Form;
  readonly gateway: Gateway;
  /** The name of the group to ask for. */
  readonly group: string;
  readonly #upstreams: ReadonlyMap<UpstreamName, ScriptedProvider>;
  readonly #names: SceneNames;
  readonly #config: SceneConfig;
  #spec: SceneSpec;

  constructor(gateway: Gateway, set: SceneSet, config: SceneConfig) {
    super(gateway.http, set.names.key, set.names.group("g"));
    this.form = gateway.form;
    this.gateway = gateway;
    this.group = set.names.group("g");
    this.#upstreams = set.upstreams;
    this.#names = set.names;
    this.#config = config;
    this.#spec = set.spec;
  }

  get A(): ScriptedProvider {
    return this.#upstream("A");
  }

  get B(): ScriptedProvider {
    return this.#upstream("B");
  }

  get C(): ScriptedProvider {
    return this.#upstream("C");
  }

  /** The name of another group of the scene. */
  groupOf(name: string): string {
    return this.#names.group(name);
  }

  /** The path of a native endpoint of the scene. */
  native(name: string): string {
    return this.#names.native(name);
  }

  /** Changes the config, by the spec; resolves when every process works by it. */
  async change(spec: SceneSpec): Promise<void> {
    this.#spec = { ...this.#spec, ...spec };
    await this.#config.replace(writeFragment(this.#spec, this.#upstreams, this.#names));
  }

  /** A caller of another gateway on the same bus. */
  via(replica: number): GatewayClient {
    return new GatewayClient(this.gateway.facades[replica] as string, this.key, this.group);
  }

  /** Who calls with the key of that place in `callers`, over any gateway. */
  caller(place: number, replica = 0): GatewayClient {
    return new GatewayClient(this.gateway.facades[replica] as string, `${this.key}-c${place}`, this.group);
  }

  /** Calls that each upstream has received, in order of their names. */
  get counts(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#upstreams].map(([name, { calls }]) => [name, calls.length]));
  }

  /** The gauge of requests in flight, over all processes and the scene's deployments. */
  async inFlight(): Promise<number> {
    let sum = 0;
    for (const ops of this.gateway.ops) {
      const text = await (await fetch(`${ops}/metrics`)).text();
      for (const line of text.split("\n")) {
        if (!line.startsWith("switchyard_deployment_in_flight{") || !line.includes(this.group)) continue;
        sum += Number(line.slice(line.lastIndexOf(" ")));
      }
    }
    return sum;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#config.leave();
    await closeAll(this.#upstreams);
  }

  #upstream(name: UpstreamName): ScriptedProvider {
    const upstream = this.#upstreams.get(name);
    if (upstream === undefined) throw new Error(`the scene has no upstream ${name}`);
    return upstream;
  }
}

/** The part of a gateway's config that is a scene's own. */
export interface SceneConfig {
  replace(fragment: Fragment): Promise<void>;
  leave(): Promise<void>;
}

/** Upstreams, names and the config that belongs to them. */
export interface SceneSet {
  readonly spec: SceneSpec;
  readonly upstreams: ReadonlyMap<UpstreamName, ScriptedProvider>;
  readonly names: SceneNames;
  readonly fragment: Fragment;
}

interface SceneNames {
  readonly tag: string;
  readonly key: string;
  group(name: string): string;
  native(name: string): string;
}

const scenes = new Map<string, number>();

/**
 * Starts the scripted upstreams and writes the config that names them. `file`: whose scene it is; its names are its own, and the same
 * whatever ran before, because places of conversations go by names.
 */
export async function setScene(spec: SceneSpec, file: string): Promise<SceneSet> {
  const number = (scenes.get(file) ?? 0) + 1;
  scenes.set(file, number);
  const tag = `${sha256(file).slice(0, 6)}-${number}`;
  const listed = new Set([
    ...(spec.pool ?? spec.order ?? ["A", "B"]),
    ...Object.values(spec.groups ?? {}).flatMap(({ order }) => order),
  ]);
  const upstreams = new Map<UpstreamName, ScriptedProvider>();
  for (const name of [...listed].toSorted()) upstreams.set(name, await createScriptedProvider(spec.upstream));
  const names: SceneNames = {
    tag,
    key: `ck-test-${tag}`,
    group: (name) => `${name}-${tag}`,
    native: (name) => `/v1/${name}-${tag}`,
  };
  return { spec, upstreams, names, fragment: writeFragment(spec, upstreams, names) };
}

function writeFragment(
  spec: SceneSpec,
  upstreams: ReadonlyMap<UpstreamName, ScriptedProvider>,
  names: SceneNames,
): Fragment {
  const providers = [...upstreams].map(([name, { url }]) => {
    const own = { family: "openai_compatible", ...spec.providers?.[name] };
    const base = own.family === "openai_compatible" ? `${url}/v1` : url;
    return {
      name: provider(name, names.tag),
      base_url: base,
      credential: { env: `SCENE_UPKEY_${name}` },
      ...own,
    };
  });
  const ownProject = `project-${names.tag}`;
  const defaults = spec.defaultFallbacks?.map((group) => names.group(group));
  const project = defaults === undefined ? {} : { project: ownProject };
  const own = { order: spec.pool ?? spec.order ?? ["A", "B"], policy: spec.policy ?? {} };
  const others = Object.entries(spec.groups ?? {});
  const groups = [
    groupOf("g", own, spec, names),
    ...others.map(([other, more]) =>
      groupOf(other, { ...more, policy: { ...spec.policy, ...more.policy } }, spec, names),
    ),
  ].map((group) => ({ ...group, ...project }));
  const granted = ["g", ...others.map(([other]) => other)].map((name) => names.group(name));
  const key = (suffix: string, fields: object | undefined): object => ({
    name: `key-${names.tag}${suffix}`,
    secret: { sha256: sha256(names.key + suffix) },
    groups: granted,
    ...project,
    ...fields,
  });
  const more = (spec.callers ?? []).map((fields, place) => key(`-c${place}`, fields));
  const keys = [key("", spec.key), ...more];
  return {
    projects: defaults === undefined ? [] : [{ name: ownProject, default_fallbacks: defaults }],
    providers,
    groups,
    keys,
    native_endpoints: Object.entries(spec.native ?? {}).map(([name, families]) => ({
      path: names.native(name),
      provider_families: families,
    })),
  };
}

function groupOf(name: string, group: GroupSpec, spec: SceneSpec, names: SceneNames): object {
  const { preset, list } = spec;
  const isOwn = name === "g";
  const pooled = isOwn && spec.pool !== undefined;
  const weight = (first: boolean): object => (preset === undefined ? { weight: first ? 100 : 0 } : {});
  const listed = group.order.map((each, place) => ({
    provider: provider(each, names.tag),
    model: `m-${each}`,
    ...weight(pooled || place === 0),
    ...(group.deployments ?? spec.deployments)?.[each],
  }));
  const policy = withGroupNames(group.policy ?? {}, names);
  return {
    name: names.group(name),
    deployments: isOwn && list !== undefined ? list((each) => provider(each, names.tag)) : listed,
    policy: preset === undefined ? merge(CASE_POLICY, policy) : { preset, ...policy },
  };
}

/** The config of scenes that play side by side. */
export function configOf(fragments: Iterable<Fragment>): object {
  const all = [...fragments];
  return {
    projects: all.flatMap(({ projects }) => projects),
    providers: all.flatMap(({ providers }) => providers),
    groups: all.flatMap(({ groups }) => groups),
    keys: all.flatMap(({ keys }) => keys),
    native_endpoints: all.flatMap((fragment) => fragment.native_endpoints),
  };
}

/** Closes a scene's upstreams. */
export async function closeAll(upstreams: ReadonlyMap<UpstreamName, ScriptedProvider>): Promise<void> {
  await Promise.all([...upstreams.values()].map((upstream) => upstream.close()));
}

function sha256(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

function provider(name: UpstreamName, tag: string): string {
  return `up-${name.toLowerCase()}-${tag}`;
}

/** Fallbacks name groups of the scene. */
function withGroupNames(policy: object, names: SceneNames): object {
  const fallback = (policy as { fallback?: Readonly<Record<string, string>> }).fallback;
  if (fallback === undefined) return policy;
  const named = Object.entries(fallback).map(([kind, name]) => [kind, names.group(name)]);
  return { ...policy, fallback: Object.fromEntries(named) };
}

function merge(base: object, over: object): object {
  const merged: Record<string, unknown> = { ...base };
  for (const [name, value] of Object.entries(over)) {
    const known = merged[name];
    merged[name] = isPlain(known) && isPlain(value) ? merge(known, value) : value;
  }
  return merged;
}

function isPlain(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
