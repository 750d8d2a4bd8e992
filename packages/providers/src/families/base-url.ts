import { FamilyError, type ProviderAccount } from "./family.ts";

/** A base URL in the parts that a request needs. */
export interface BaseUrl {
  readonly origin: string;
  /** Empty, or with a slash at its start and none at its end. */
  readonly path: string;
}

const parsed = new WeakMap<ProviderAccount, BaseUrl>();

/** The account's address, else the family's own. Parsed once per account. */
export function baseUrlOf(account: ProviderAccount, own: string | undefined): BaseUrl {
  let base = parsed.get(account);
  if (base === undefined) {
    const text = account.baseUrl === undefined || account.baseUrl === "" ? own : account.baseUrl;
    if (text === undefined) throw new FamilyError("the provider has no base URL");
    base = parseBaseUrl(text);
    parsed.set(account, base);
  }
  return base;
}

/** Query and fragment of a base URL say nothing here and are left out. */
export function parseBaseUrl(text: string): BaseUrl {
  const [, origin, path] = /^(https?:\/\/[^/?#\s]+)([^?#\s]*)/iu.exec(text) ?? [];
  if (origin === undefined || path === undefined)
    throw new FamilyError("the base URL is no http or https URL");
  return { origin, path: path.replace(/\/+$/u, "") };
}

/** A path with its query, where there is one. */
export function withQuery(path: string, query: string): string {
  return query === "" ? path : `${path}?${query}`;
}

/** A native path under the address: a version that both name stands once. */
export function nativeUrlPath(base: BaseUrl, nativePath: string): string {
  const version = /\/v\d+(?:(?:alpha|beta)\d*)?$/u.exec(base.path)?.[0];
  const isDouble = version !== undefined && nativePath.startsWith(`${version}/`);
  return (isDouble ? base.path.slice(0, -version.length) : base.path) + nativePath;
}
