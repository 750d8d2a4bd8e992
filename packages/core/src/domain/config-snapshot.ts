import type { Deployment } from "./deployment.ts";
import type { Policy } from "./policy.ts";

/** A model group as routers hold it. */
export interface Group {
  /** `project/name`: unique in the config. */
  readonly key: string;
  readonly name: string;
  readonly project: string;
  /** In the order of the file. 1 to 32 (R11). */
  readonly deployments: readonly Deployment[];
  readonly policy: Policy;
}

/** A caller's credential. The secret itself is held nowhere: keys are found by its SHA-256. */
export interface CallerKey {
  readonly name: string;
  readonly project: string;
  readonly team: string | undefined;
  /** Names of granted groups, in the order of the file. */
  readonly groups: readonly string[];
  readonly grants: ReadonlySet<string>;
  /** R3: every request goes to the only group. */
  readonly ignoreModel: boolean;
  /** R9: may name `provider/model` of its project. */
  readonly allowDirect: boolean;
  readonly roles: ReadonlySet<CallerRole>;
  readonly recording: "full" | "usage_only";
  /** Who calls with it, for affinity (F3, F5). */
  readonly user?: CallerUser | undefined;
  /** `context.custom` of expressions (F5). */
  readonly metadata?: PlainData | undefined;
}

/** Who calls with a key. */
export interface CallerUser {
  /** Stable identity; the key's name when left out. */
  readonly sub: string | undefined;
  readonly data: PlainData | undefined;
}

/** JSON as a config file gives it. */
export interface PlainData {
  readonly [name: string]: unknown;
}

/** What a key may do besides calling its groups. */
export type CallerRole = "caller" | "project_admin" | "account_admin";

/** A config that was applied whole (invariant 10). Replaced, never edited (invariant 8). */
export interface ConfigSnapshot {
  /** Grows by one with each change in the store; 1 for a file alone. */
  readonly revision: number;
  /** Hash of the config's content, for people: 12 hexadecimal digits. */
  readonly hash: string;
  /** By {@link Group.key}. */
  readonly groups: ReadonlyMap<string, Group>;
  /**
   * R9: groups of one, for keys that may name a provider's model, by {@link directKey}. One for each provider and
   * model that stands in some group of the project, with the policy of the first such group but no fallbacks.
   */
  readonly direct: ReadonlyMap<string, Group>;
  /** By lower-case hexadecimal SHA-256 of the key's secret. */
  readonly keys: ReadonlyMap<string, CallerKey>;
  /** Who calls without a key, or with an unknown one, where access is open; absent where every caller needs a key. */
  readonly openKey?: CallerKey | undefined;
  /** Default fallback groups (G3), by project. */
  readonly defaultFallbacks: ReadonlyMap<string, readonly string[]>;
  /** Families whose providers serve a native endpoint, by its path; none when left out. */
  readonly nativeEndpoints?: ReadonlyMap<string, ReadonlySet<string>> | undefined;
}

/** The key of a direct group (R9); the empty name in it keeps it apart from every {@link groupKey}. */
export function directKey(project: string, provider: string, model: string): string {
  return `${project}//${provider}/${model}`;
}

/** The group of either kind under its {@link Group.key}. */
export function groupOf(config: ConfigSnapshot, key: string): Group | undefined {
  return config.groups.get(key) ?? config.direct.get(key);
}

/** The key under which a group of a project is found. */
export function groupKey(project: string, name: string): string {
  return `${project}/${name}`;
}
