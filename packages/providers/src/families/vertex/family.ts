import { joined } from "../../json/splice.ts";
import { vertexClaudeBody } from "../vertex-claude.ts";
import { isClaude } from "../capabilities.ts";
import { type Family, FamilyError } from "../family.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** Google's Vertex AI: Gemini by its own API, Claude by Anthropic's. */
export const family: Family = {
  name: "vertex",
  tokens: "google",
  wireOf({ endpoint, model }) {
    if (endpoint === "native") return endpoint;
    if (endpoint === "chat" || endpoint === "messages" || endpoint === "responses") {
      return isClaude(model) ? "messages" : "generate_content";
    }
    throw new FamilyError(`the provider's family has no endpoint ${endpoint}`);
  },
  buildRequest(input) {
    const { endpoint, secret, body } = input;
    const own = secret === undefined ? [] : ["authorization", `Bearer ${secret}`];
    const isMessages = endpoint === "messages";
    return {
      method: "POST",
      ...addressOf(input),
      headers: requestHeaders(callerHeadersOf(input, isMessages ? "anthropic-" : undefined), own),
      body: isMessages ? vertexClaudeBody(joined(body)) : body,
    };
  },
};
