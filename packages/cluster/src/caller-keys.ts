import { hash } from "node:crypto";
import type { CallerKey, ConfigSnapshot } from "@switchyard/core";
import { type Call, failure } from "@switchyard/rpc";

/** Who calls, in what a call says of it. */
type Caller = Pick<Call, "header">;

/** The hash under which a caller's key is found in a config; empty for one without a key. */
export function keyHashOf(caller: Caller): string {
  const secret = secretOf(caller.header("authorization"));
  return secret === undefined ? "" : hash("sha256", secret, "hex");
}

/** The key of a hash; with `auth: open`, everybody's. */
export function findKey(config: ConfigSnapshot, keyHash: string): CallerKey | undefined {
  return (keyHash === "" ? undefined : config.keys.get(keyHash)) ?? config.openKey;
}

/** The caller's key; throws `invalid_api_key` (401) without a known one, and while there is no config. */
export function requireKey(config: ConfigSnapshot | undefined, caller: Caller): CallerKey {
  const key = config === undefined ? undefined : findKey(config, keyHashOf(caller));
  if (key === undefined) {
    throw failure("invalid_api_key", "a known API key is needed: Authorization: Bearer KEY", { status: 401 });
  }
  return key;
}

/** The name of the caller's key; throws what {@link requireKey} does, and `model_not_allowed` (403) where it is no account admin's. */
export function requireAdmin(config: ConfigSnapshot | undefined, caller: Caller): string {
  const key = requireKey(config, caller);
  if (!key.roles.has("account_admin")) {
    throw failure("model_not_allowed", "the key of an account admin is needed", { status: 403 });
  }
  return key.name;
}

/** The secret of an `authorization: Bearer` value; undefined when there is none. */
function secretOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
}
