import type { CallerKey, CallerRole } from "@switchyard/core";
import type { Config, Key } from "@switchyard/proto/config/v1/config";
import { Auth, Recording, RoleSchema } from "@switchyard/proto/config/v1/config";
import { shortName } from "../decode/schema-forms.ts";
import { itemPath } from "../fault.ts";
import type { Fault } from "../fault.ts";
import { projectOf } from "../validate/check.ts";
import { sha256Hex } from "./config-hash.ts";
import { keyReference, resolveSecret } from "./secret-source.ts";
import type { SecretSource } from "./secret-source.ts";

/** Name of the key of callers who bring none, under `auth: open`. */
export const OPEN_KEY_NAME = "open";

/** Keys by the SHA-256 of their secret. One whose secret is not there, or is another key's, is left out with a warning. */
export function compileKeys(
  config: Config,
  secrets: SecretSource,
  warn: (warning: Fault) => void,
): ReadonlyMap<string, CallerKey> {
  const keys = new Map<string, CallerKey>();
  for (const [index, key] of config.keys.entries()) {
    const path = `${itemPath("keys", index)}.secret`;
    const hash = secretHash(key, secrets);
    if ("missing" in hash) {
      warn({ path, message: `${hash.missing} is not there; key "${key.name}" is left out` });
      continue;
    }
    const other = keys.get(hash.sha256);
    if (other === undefined) keys.set(hash.sha256, toCallerKey(key));
    else warn({ path, message: `is the secret of key "${other.name}" too; key "${key.name}" is left out` });
  }
  return keys;
}

function secretHash(
  { secret }: Key,
  secrets: SecretSource,
): { readonly sha256: string } | { readonly missing: string } {
  if (secret?.source.case === "sha256") return { sha256: secret.source.value.toLowerCase() };
  const reference = keyReference(secret);
  if (reference === undefined) return { missing: "its secret" };
  const resolved = resolveSecret(reference, secrets);
  if (resolved.kind === "secret") return { sha256: sha256Hex(resolved.secret) };
  return { missing: resolved.kind === "missing" ? resolved.reference : "its secret" };
}

function toCallerKey(key: Key): CallerKey {
  const roles = key.roles.map((role) => shortName(RoleSchema, role)).filter(isRole);
  return {
    name: key.name,
    project: projectOf(key),
    team: key.team || undefined,
    groups: key.groups,
    grants: new Set(key.groups),
    ignoreModel: key.ignoreModel,
    allowDirect: key.allowDirect,
    roles: new Set<CallerRole>(roles.length === 0 ? ["caller"] : roles),
    recording: key.recording === Recording.USAGE_ONLY ? "usage_only" : "full",
    user: key.user && { sub: key.user.sub || undefined, data: key.user.data },
    metadata: key.metadata,
  };
}

function isRole(name: string): name is CallerRole {
  return name === "caller" || name === "project_admin" || name === "account_admin";
}

/** Who calls without a key under `auth: open`: granted every group of project `default`. */
export function compileOpenKey(config: Config): CallerKey | undefined {
  if (config.runtime?.auth !== Auth.OPEN) return undefined;
  const groups = config.groups.filter((group) => projectOf(group) === "default").map(({ name }) => name);
  return {
    name: OPEN_KEY_NAME,
    project: "default",
    team: undefined,
    groups,
    grants: new Set(groups),
    ignoreModel: false,
    allowDirect: false,
    roles: new Set<CallerRole>(["caller"]),
    recording: "full",
  };
}
