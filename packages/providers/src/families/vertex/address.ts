import { baseUrlOf, versionedPath, withQuery } from "../base-url.ts";
import { FamilyError, type ProviderRequestInput } from "../family.ts";

/** Where requests go whose config names no place. */
const GLOBAL = "global";

/** Where the request goes: the model's own path in the account's project and location. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const { account } = input;
  const location = account.location ?? GLOBAL;
  const base = baseUrlOf(account, ownBaseUrl(location));
  if (input.endpoint === "native") {
    return {
      origin: base.origin,
      path: withQuery(versionedPath(base.path, input.nativePath ?? "/"), input.query),
    };
  }
  if (account.project === undefined || account.project === "") {
    throw new FamilyError("the provider has no project");
  }
  const root = /\/v\d+(?:beta\d*)?$/u.test(base.path) ? base.path : `${base.path}/v1`;
  const scope = `/projects/${encodeURIComponent(account.project)}/locations/${encodeURIComponent(location)}`;
  return { origin: base.origin, path: `${root}${scope}/${modelPath(input)}` };
}

function ownBaseUrl(location: string): string {
  // The multi-region places have hosts of their own form.
  if (location === "us" || location === "eu") return `https://aiplatform.${location}.rep.googleapis.com`;
  return `https://${location === GLOBAL ? "" : `${location}-`}aiplatform.googleapis.com`;
}

/** A name with slashes says whose model it is, as `publishers/meta/models/…`; otherwise its form tells. */
function modelPath({ endpoint, model, stream }: ProviderRequestInput): string {
  const path = (publisher: string): string =>
    model.includes("/")
      ? model.split("/").map(encodeURIComponent).join("/")
      : `publishers/${publisher}/models/${encodeURIComponent(model)}`;
  if (endpoint === "messages") {
    return `${path("anthropic")}:${stream === true ? "streamRawPredict" : "rawPredict"}`;
  }
  if (endpoint === "generate_content") {
    return `${path("google")}:${stream === true ? "streamGenerateContent?alt=sse" : "generateContent"}`;
  }
  throw new FamilyError(`the provider's family has no endpoint ${endpoint}`);
}
