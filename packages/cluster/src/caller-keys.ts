import { hash } from "node:crypto";
import type { CallerKey, ConfigSnapshot } from "@switchyard/core";

/** The secret of an `authorization: Bearer` value; undefined when there is none. */
export function secretOf(authorization: string | undefined): string | undefined {
  if (authorization === undefined) return undefined;
  const match = /^Bearer +(\S+) *$/i.exec(authorization);
  return match?.[1];
}

/** The key that a secret belongs to; with `auth: open`, everybody's. */
export function findKey(config: ConfigSnapshot, secret: string | undefined): CallerKey | undefined {
  const known = secret === undefined ? undefined : config.keys.get(hash("sha256", secret, "hex"));
  return known ?? config.openKey;
}
