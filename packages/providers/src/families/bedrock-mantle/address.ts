import { regionOf } from "../aws-auth.ts";
import { baseUrlOf, nativeUrlPath, withQuery } from "../base-url.ts";
import type { ProviderRequestInput } from "../family.ts";
import { openAiPath } from "../openai-paths.ts";

/** Models that AWS serves below `/openai/v1`; the others are below `/v1`, and neither path serves the other's. */
const BELOW_OPENAI = /^(?:openai\.gpt-(?!oss)|google\.gemma-4|xai\.)/u;

/** Where the request goes. A base URL that ends in one of the APIs' roots says which of OpenAI's two it is. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const { account, endpoint, model } = input;
  const own = account.baseUrl ? undefined : `https://bedrock-mantle.${regionOf(account)}.api.aws`;
  const base = baseUrlOf(account, own);
  const given = /(?:\/openai)?\/v1$/u.exec(base.path)?.[0];
  const root = base.path.replace(/(?:\/openai\/v1|\/anthropic\/v1|\/anthropic|\/v1)$/u, "");
  const isAnthropic = endpoint === "messages" || endpoint === "count_tokens";
  const isGiven = given !== undefined && !base.path.endsWith("/anthropic/v1");
  const openAiRoot = isGiven ? given : BELOW_OPENAI.test(model) ? "/openai/v1" : "/v1";
  const path = isAnthropic
    ? `/anthropic/v1/messages${endpoint === "messages" ? "" : "/count_tokens"}`
    : endpoint === "native"
      ? nativeUrlPath(openAiRoot, input.nativePath ?? "/")
      : openAiRoot + openAiPath(endpoint) + (input.stored?.path ?? "");
  return { origin: base.origin, path: withQuery(root + path, input.query) };
}
