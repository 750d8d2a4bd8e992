import { awsAuth, withoutAwsHeaders } from "../aws-auth.ts";
import { isClaude } from "../capabilities.ts";
import { type Family, FamilyError } from "../family.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

const VERSION = "anthropic-version";
const DEFAULT_VERSION = "2023-06-01";

/** Bedrock's OpenAI- and Anthropic-compatible endpoint: Claude has Anthropic's API there, all others have OpenAI's. */
export const family: Family = {
  name: "bedrock_mantle",
  tokens: "aws",
  wireOf({ endpoint, model }) {
    if (isClaude(model)) return endpoint === "chat" || endpoint === "responses" ? "messages" : endpoint;
    if (endpoint === "count_tokens") throw new FamilyError("only Claude's tokens can be counted there");
    return endpoint === "messages" ? "chat" : endpoint;
  },
  buildRequest(input) {
    const { headers, signing } = awsAuth(input.secret, input.account, "bedrock-mantle");
    const isAnthropic = input.endpoint === "messages" || input.endpoint === "count_tokens";
    const own = [...headers];
    if (isAnthropic && !hasHeader(input.callerHeaders, VERSION)) own.push(VERSION, DEFAULT_VERSION);
    const passed = withoutAwsHeaders(callerHeadersOf(input, isAnthropic ? "anthropic-" : undefined));
    return {
      method: input.stored?.method ?? "POST",
      ...addressOf(input),
      headers: requestHeaders(passed, own),
      body: input.body,
      signing,
    };
  },
};

function hasHeader(headers: readonly string[], wanted: string): boolean {
  return headers.some((name, place) => place % 2 === 0 && name.toLowerCase() === wanted);
}
