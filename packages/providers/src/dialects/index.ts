import type { Endpoint } from "@switchyard/core";
import { anthropicDialect } from "./anthropic/errors.ts";
import type { Dialect } from "./dialect.ts";
import { openAiDialect } from "./openai/errors.ts";
import { responsesDialect } from "./responses/errors.ts";

/** The dialect that callers of an endpoint speak. */
export function dialectOf(endpoint: Endpoint): Dialect {
  if (endpoint === "responses") return responsesDialect;
  return endpoint === "messages" || endpoint === "count_tokens" ? anthropicDialect : openAiDialect;
}
