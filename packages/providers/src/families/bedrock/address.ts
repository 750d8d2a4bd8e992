import { regionOf } from "../aws-auth.ts";
import { baseUrlOf, versionedPath, withQuery } from "../base-url.ts";
import { FamilyError, type ProviderRequestInput } from "../family.ts";

/** Where the request goes: the model stands in the path, ARNs too. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const { account, endpoint, model } = input;
  const own = account.baseUrl ? undefined : runtimeUrl(regionOf(account));
  const base = baseUrlOf(account, own);
  if (endpoint === "native") {
    return {
      origin: base.origin,
      path: withQuery(versionedPath(base.path, input.nativePath ?? "/"), input.query),
    };
  }
  if (endpoint !== "converse") throw new FamilyError(`the provider's family has no endpoint ${endpoint}`);
  const action = input.stream === true ? "converse-stream" : "converse";
  return { origin: base.origin, path: `${base.path}/model/${encodeURIComponent(model)}/${action}` };
}

function runtimeUrl(region: string): string {
  return `https://bedrock-runtime.${region}.${region.startsWith("cn-") ? "amazonaws.com.cn" : "amazonaws.com"}`;
}
