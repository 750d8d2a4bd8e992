import type { Endpoint } from "@switchyard/core";
import { FamilyError, type ProviderAccount, type Wire } from "./family.ts";

/** Path of an endpoint below the root of an API that is OpenAI's or like it. */
export function openAiPath(endpoint: Wire): string {
  switch (endpoint) {
    case "chat":
      return "/chat/completions";
    case "embeddings":
      return "/embeddings";
    case "responses":
      return "/responses";
    default:
      throw new FamilyError(`the provider's family has no endpoint ${endpoint}`);
  }
}

/** Messages are told as chat, where the account does not serve them itself. */
export function openAiWire(asked: { readonly endpoint: Endpoint; readonly account: ProviderAccount }): Wire {
  return asked.endpoint === "messages" && !isOwn(asked) ? "chat" : asked.endpoint;
}

/** The same for servers that need not have the Responses API. */
export function compatibleWire(asked: {
  readonly endpoint: Endpoint;
  readonly account: ProviderAccount;
}): Wire {
  return asked.endpoint === "responses" && !isOwn(asked) ? "chat" : openAiWire(asked);
}

function isOwn({
  account,
  endpoint,
}: {
  readonly endpoint: Endpoint;
  readonly account: ProviderAccount;
}): boolean {
  return account.endpoints?.includes(endpoint) === true;
}
