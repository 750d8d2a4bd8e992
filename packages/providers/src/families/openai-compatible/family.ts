import type { Family } from "../family.ts";
import { compatibleWire } from "../openai-paths.ts";
import { callerHeadersOf, requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** Any server that speaks OpenAI's API: vLLM, Ollama, Groq, Mistral, DeepSeek, Together, LiteLLM, … */
export const family: Family = {
  name: "openai_compatible",
  wireOf: compatibleWire,
  buildRequest(input) {
    const own = input.secret === undefined ? [] : ["authorization", `Bearer ${input.secret}`];
    return {
      method: input.stored?.method ?? "POST",
      ...addressOf(input),
      headers: requestHeaders(callerHeadersOf(input), own),
      body: input.body,
    };
  },
};
