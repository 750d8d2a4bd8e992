import { hash } from "node:crypto";
import type { CallerKey, ConfigSnapshot } from "@switchyard/core";

/** The secret of an `authorization: Bearer` value; undefined when there is none. */
export function secretOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  return /^Bearer +(\S+) *$/i.exec(authorization)?.[1];
}

/** Under which a key of the config is found; empty without a secret. */
export function keyHashOf(secret: string | undefined): string {
  return secret === undefined ? "" : hash("sha256", secret, "hex");
}

/** The key of a hash; with `auth: open`, everybody's. */
export function findKey(config: ConfigSnapshot, keyHash: string): CallerKey | undefined {
  return (keyHash === "" ? undefined : config.keys.get(keyHash)) ?? config.openKey;
}
