import { baseUrlOf, nativeUrlPath, withQuery } from "../base-url.ts";
import type { ProviderRequestInput } from "../family.ts";
import { openAiPath } from "../openai-paths.ts";

/** Where the request goes: below the base URL as it is written, as SDKs take it. Versions differ (`/v1`, `/openai/v1`, none). */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const base = baseUrlOf(input.account, undefined);
  const path =
    input.endpoint === "native"
      ? nativeUrlPath(base.path, input.nativePath ?? "/")
      : base.path + compatiblePath(input);
  return { origin: base.origin, path: withQuery(path, input.query) };
}

/** Accounts whose `endpoints` say so serve Anthropic's paths too. */
function compatiblePath(input: ProviderRequestInput): string {
  if (input.endpoint === "messages") return "/messages";
  if (input.endpoint === "count_tokens") return "/messages/count_tokens";
  return openAiPath(input.endpoint) + (input.stored?.path ?? "");
}
