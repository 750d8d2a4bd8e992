import type { Endpoint } from "@switchyard/core";
import { FamilyError } from "./family.ts";

/** Path of an endpoint below the root of an API that is OpenAI's or like it. */
export function openAiPath(endpoint: Endpoint): string {
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
