import { joined } from "../../json/splice.ts";
import { textEmbeddings } from "../text-embeddings.ts";
import type { Family } from "../family.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf, speaksOpenAi } from "./address.ts";

/** Google's Gemini API, as one gets a key for it. */
export const family: Family = {
  name: "gemini",
  wireOf({ endpoint, account }) {
    if (endpoint !== "chat" && endpoint !== "messages" && endpoint !== "responses") return endpoint;
    return speaksOpenAi(account) ? "chat" : "generate_content";
  },
  buildRequest(input) {
    const { endpoint, secret, body } = input;
    // The compatible API's own way is the bearer; both take a key.
    const isOwnApi = endpoint === "generate_content" || endpoint === "native";
    const auth = secret === undefined ? [] : isOwnApi ? ["x-goog-api-key", secret] : bearer(secret);
    return {
      method: "POST",
      ...addressOf(input),
      headers: requestHeaders(callerHeadersOf(input), auth),
      body: endpoint === "embeddings" ? textEmbeddings(joined(body)) : body,
    };
  },
};

function bearer(secret: string): string[] {
  return ["authorization", `Bearer ${secret}`];
}
