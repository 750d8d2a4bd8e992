import type { Endpoint } from "@switchyard/core";
import { ENDPOINTS } from "@switchyard/core";
import type { Config, Provider } from "@switchyard/proto/config/v1/config";
import { EndpointSchema } from "@switchyard/proto/config/v1/config";
import { FamilySchema } from "@switchyard/proto/config/v1/family";
import { shortName } from "../decode/schema-forms.ts";
import { capabilities, isFamilyName, reachOf } from "@switchyard/providers";
import type { FamilyName, ProviderAccount as CallableAccount } from "@switchyard/providers";
import { canonicalProvider } from "../validate/check.ts";
import { credentialReference } from "./secret-source.ts";
import type { SecretReference } from "./secret-source.ts";

/** One account at a vendor, as forwarders need it to make calls. Holds no secret, only where it is read. */
export interface ProviderAccount extends CallableAccount {
  /** Canonical (lower-case) name. */
  readonly name: string;
  readonly family: FamilyName;
  readonly credential: SecretReference;
  /** What the account serves, where it differs from its family. */
  readonly endpoints: readonly Endpoint[] | undefined;
  readonly storesResponses: boolean | undefined;
  readonly location: string | undefined;
}

/** The accounts of a valid config. */
export function readProviders(config: Config): ProviderAccount[] {
  return config.providers.flatMap((provider) => {
    const family = shortName(FamilySchema, provider.family);
    return isFamilyName(family) ? [readProvider(provider, family)] : [];
  });
}

function readProvider(provider: Provider, family: FamilyName): ProviderAccount {
  return {
    name: canonicalProvider(provider.name),
    family,
    baseUrl: provider.baseUrl.replace(/\/+$/, "") || undefined,
    credential: credentialReference(provider.credential),
    endpoints: provider.endpoints === undefined ? undefined : endpointNames(provider.endpoints.values),
    storesResponses: provider.storesResponses,
    apiVersion: provider.apiVersion || undefined,
    region: provider.region || undefined,
    project: provider.project || undefined,
    location: provider.location || undefined,
    organization: provider.organization || undefined,
  };
}

/**
 * What an account serves for a model as it is, and what through a translation (R5), as far as this version can send it.
 * An account's own list replaces what its family serves; translations stay, since they end in what is listed, or in
 * an API of the family's own.
 */
export function accountReach(
  account: ProviderAccount,
  model: string,
): {
  readonly native: ReadonlySet<Endpoint>;
  readonly translated: ReadonlySet<Endpoint>;
} {
  const { served } = capabilities(account.family);
  const reach = reachOf(account.family, model);
  const isServed = (endpoint: Endpoint): boolean => served.includes(endpoint);
  const native = new Set((account.endpoints ?? reach.native).filter(isServed));
  const hasOwnApi = reach.native.length === 0;
  const ends = hasOwnApi || native.has("chat") || native.has("responses") || native.has("messages");
  const through = reach.translated.filter((endpoint) => ends && isServed(endpoint) && !native.has(endpoint));
  return { native, translated: new Set(through) };
}

/** P8: whether an account keeps responses for later requests. */
export function keepsResponses(account: ProviderAccount): boolean {
  return account.storesResponses ?? capabilities(account.family).storesResponses;
}

function endpointNames(values: Iterable<number>): Endpoint[] {
  const names = new Set([...values].map((value) => shortName(EndpointSchema, value)));
  return ENDPOINTS.filter((endpoint) => names.has(endpoint));
}
