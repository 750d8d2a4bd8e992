import { type BaseUrl, baseUrlOf, versionedPath, withQuery } from "../base-url.ts";
import type { ProviderAccount, ProviderRequestInput } from "../family.ts";
import { openAiPath } from "../openai-paths.ts";

const OWN_BASE_URL = "https://generativelanguage.googleapis.com/v1beta";
const COMPATIBLE = "/openai";

/** Whether the account's address is that of Google's OpenAI-compatible API, so that its chat is spoken. */
export function speaksOpenAi(account: ProviderAccount): boolean {
  return baseUrlOf(account, OWN_BASE_URL).path.endsWith(COMPATIBLE);
}

/** Where the request goes. A base URL without a version gets `/v1beta`. */
export function addressOf(input: ProviderRequestInput): { origin: string; path: string } {
  const base = baseUrlOf(input.account, OWN_BASE_URL);
  const { origin } = base;
  if (input.endpoint === "native") {
    return {
      origin,
      path: withQuery(versionedPath(rootOf(base), input.nativePath ?? "/"), withoutKey(input.query)),
    };
  }
  const root = rootOf(base);
  if (input.endpoint !== "generate_content") {
    return {
      origin,
      path: withQuery(root + COMPATIBLE + openAiPath(input.endpoint), withoutKey(input.query)),
    };
  }
  const model = input.model
    .replace(/^models\//u, "")
    .split("/")
    .map(encodeURIComponent)
    .join("/");
  const method = input.stream === true ? "streamGenerateContent?alt=sse" : "generateContent";
  return { origin, path: `${root}/models/${model}:${method}` };
}

/** The API's root, also when the base URL names its compatible part. */
function rootOf(base: BaseUrl): string {
  const path = base.path.endsWith(COMPATIBLE) ? base.path.slice(0, -COMPATIBLE.length) : base.path;
  return /\/v\d+(?:alpha|beta)?$/u.test(path) ? path : `${path}/v1beta`;
}

/** BH-37: a key goes into a header, and a caller's own never on. */
function withoutKey(query: string): string {
  if (query === "") return query;
  return query
    .split("&")
    .filter((pair) => !/^key(?:=|$)/iu.test(pair))
    .join("&");
}
