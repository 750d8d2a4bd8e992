import { failure } from "@switchyard/rpc";

/** A caller's own provider key (BYOK, E9). */
export interface OwnKey {
  /** Canonical name. */
  readonly provider: string;
  readonly secret: string;
}

/** What a header can carry without doubt; a line break in it would be another header. */
const FIT = /^[\x21-\x7e]+$/;

/** Reads `x-provider-key: <provider>=<secret>`. Throws 400 `invalid_provider_key`, never repeating the value. */
export function readOwnKey(value: string | undefined): OwnKey | undefined {
  if (value === undefined) return undefined;
  const split = value.indexOf("=");
  const provider = value.slice(0, Math.max(0, split)).trim().toLowerCase();
  const secret = value.slice(split + 1).trim();
  if (split < 1 || provider === "" || !FIT.test(secret)) {
    throw failure("invalid_provider_key", "x-provider-key must have the form <provider>=<secret>", {
      status: 400,
    });
  }
  return { provider, secret };
}
