import type { Endpoint } from "@switchyard/core";
import type { BodyFacts } from "./facts.ts";

/** The facts of a body that is nobody's business here: nothing is known of it but its size. */
export function opaqueFacts(endpoint: Endpoint, bodyBytes: number): BodyFacts {
  return {
    endpoint,
    model: undefined,
    stream: false,
    bodyBytes,
    maxOutputTokens: undefined,
    usageAsked: false,
    encodingFormat: undefined,
    continues: [],
    store: false,
    encrypted: false,
    layout: {
      open: 0,
      model: undefined,
      modelRepeated: false,
      streamOptions: undefined,
      streamOptionsRepeated: false,
      messages: undefined,
      input: undefined,
      system: undefined,
      instructions: undefined,
      promptCacheKey: undefined,
      user: undefined,
      metadata: undefined,
    },
  };
}
