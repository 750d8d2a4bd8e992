import type { Family, ProviderAccount } from "../family.ts";
import { openAiWire } from "../openai-paths.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** OpenAI itself. */
export const family: Family = {
  name: "openai",
  wireOf: openAiWire,
  buildRequest(input) {
    const headers = requestHeaders(callerHeadersOf(input), ownHeaders(input.account, input.secret));
    return { method: input.stored?.method ?? "POST", ...addressOf(input), headers, body: input.body };
  },
};

function ownHeaders(account: ProviderAccount, secret: string | undefined): string[] {
  const headers: string[] = [];
  if (secret !== undefined) headers.push("authorization", `Bearer ${secret}`);
  if (account.organization) headers.push("openai-organization", account.organization);
  if (account.project) headers.push("openai-project", account.project);
  return headers;
}
