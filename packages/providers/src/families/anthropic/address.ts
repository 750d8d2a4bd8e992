import { baseUrlOf, nativeUrlPath, withQuery } from "../base-url.ts";
import { FamilyError, type ProviderRequestInput } from "../family.ts";

const OWN_BASE_URL = "https://api.anthropic.com/v1";

/** Where the request goes. Anthropic's own SDKs take a base URL without `/v1`, so one without a version gets it. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const base = baseUrlOf(input.account, OWN_BASE_URL);
  const root = /\/v\d+$/u.test(base.path) ? base.path : `${base.path}/v1`;
  const path =
    input.endpoint === "native" ? nativeUrlPath(root, input.nativePath ?? "/") : root + pathOf(input);
  return { origin: base.origin, path: withQuery(path, input.query) };
}

function pathOf(input: ProviderRequestInput): string {
  if (input.endpoint === "messages") return "/messages";
  if (input.endpoint === "count_tokens") return "/messages/count_tokens";
  throw new FamilyError(`the provider's family has no endpoint ${input.endpoint}`);
}
