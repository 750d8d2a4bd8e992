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

/** The gateway's own root, where callers find the endpoints of all families. */
const OUR_ROOT = "/v1/";
const VERSION_AT_END = /\/v\d+(?:(?:alpha|beta)\d*)?$/u;
const VERSION_AT_START = /^\/v\d+(?:(?:alpha|beta)\d*)?\//u;

/**
 * A native endpoint's path below the root of an API, as its other endpoints stand there: what is below `/v1` for callers is below `root`. A
 * path that names another version, or none, keeps it.
 */
export function nativeUrlPath(root: string, nativePath: string): string {
  return nativePath.startsWith(OUR_ROOT)
    ? root + nativePath.slice(OUR_ROOT.length - 1)
    : versionedPath(root, nativePath);
}

/** The same for APIs whose callers name a version of the vendor's: a path that names one keeps it. */
export function versionedPath(root: string, nativePath: string): string {
  return (VERSION_AT_START.test(nativePath) ? root.replace(VERSION_AT_END, "") : root) + nativePath;
}
