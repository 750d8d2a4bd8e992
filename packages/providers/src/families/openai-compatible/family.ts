import type { Family } from "../family.ts";
import { requestHeaders } from "../request-headers.ts";
import { addressOf } from "./address.ts";

/** Any server that speaks OpenAI's API: vLLM, Ollama, Groq, Mistral, DeepSeek, Together, LiteLLM, … */
export const family: Family = {
  name: "openai_compatible",
  buildRequest(input) {
    const own = input.secret === undefined ? [] : ["authorization", `Bearer ${input.secret}`];
    return {
      method: "POST",
      ...addressOf(input),
      headers: requestHeaders(input.callerHeaders, own),
      body: input.body,
    };
  },
};
