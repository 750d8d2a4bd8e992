import { type BaseUrl, baseUrlOf, nativeUrlPath, withQuery } from "../base-url.ts";
import type { ProviderRequestInput, Wire } from "../family.ts";
import { openAiPath } from "../openai-paths.ts";

/** Where the request goes: the v1 API, or with a dated `api_version` the deployment's own path. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const base = baseUrlOf(input.account, undefined);
  const version = input.account.apiVersion ?? "";
  const query = withoutApiVersion(input.query);
  const below = (root: string): string =>
    input.endpoint === "native"
      ? nativeUrlPath(root, input.nativePath ?? "/")
      : root + openAiPath(input.endpoint) + (input.stored?.path ?? "");
  if (isVersionOne(base, version)) {
    const preview = version === "preview" || version === "latest" ? join("preview", query) : query;
    return { origin: base.origin, path: withQuery(below(`${rootOf(base)}/openai/v1`), preview) };
  }
  const scope = hasDeploymentPath(input.endpoint) ? `/deployments/${encodeURIComponent(input.model)}` : "";
  return {
    origin: base.origin,
    path: withQuery(below(`${rootOf(base)}/openai${scope}`), join(version, query)),
  };
}

function isVersionOne(base: BaseUrl, version: string): boolean {
  return ["", "v1", "preview", "latest"].includes(version) || base.path.endsWith("/openai/v1");
}

/** Responses take the model from the body alone. */
function hasDeploymentPath(endpoint: Wire): boolean {
  return endpoint !== "responses";
}

/** The resource's address, also when the base URL was given with the start of the API's path. */
function rootOf(base: BaseUrl): string {
  return base.path.replace(/\/openai(?:\/v1)?$/u, "");
}

function join(version: string, query: string): string {
  const own = `api-version=${encodeURIComponent(version)}`;
  return query === "" ? own : `${own}&${query}`;
}

/** The account names the version, whatever the caller does. */
function withoutApiVersion(query: string): string {
  if (query === "") return query;
  return query
    .split("&")
    .filter((pair) => !/^api-version(?:=|$)/iu.test(pair))
    .join("&");
}
