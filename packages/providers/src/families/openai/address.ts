import { baseUrlOf, nativeUrlPath, withQuery } from "../base-url.ts";
import type { ProviderRequestInput } from "../family.ts";
import { openAiPath } from "../openai-paths.ts";

const OWN_BASE_URL = "https://api.openai.com/v1";

/** Where the request goes. A base URL without a path gets `/v1`: this API has no other root. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const base = baseUrlOf(input.account, OWN_BASE_URL);
  const root = base.path === "" ? "/v1" : base.path;
  const path =
    input.endpoint === "native"
      ? nativeUrlPath(root, input.nativePath ?? "/")
      : root + openAiPath(input.endpoint) + (input.stored?.path ?? "");
  return { origin: base.origin, path: withQuery(path, input.query) };
}
