import { baseUrlOf, nativeUrlPath, withQuery } from "../base-url.ts";
import type { ProviderRequestInput } from "../family.ts";
import { openAiPath } from "../openai-paths.ts";

const OWN_BASE_URL = "https://openrouter.ai/api/v1";

/** Where the request goes. A base URL without a path gets `/api/v1`: this API has no other root. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const base = baseUrlOf(input.account, OWN_BASE_URL);
  const root = base.path === "" ? "/api/v1" : base.path;
  const path =
    input.endpoint === "native"
      ? nativeUrlPath(root, input.nativePath ?? "/")
      : root + (input.endpoint === "messages" ? "/messages" : openAiPath(input.endpoint));
  return { origin: base.origin, path: withQuery(path, input.query) };
}
