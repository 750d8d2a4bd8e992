import type { BodyFacts } from "./facts.ts";

/** The facts of a call about one stored response (P8): it names no model, and its body, if it has one, is nobody's business. */
export function factsOfStored(id: string, query: string, bodyBytes: number): BodyFacts {
  return {
    endpoint: "responses",
    model: undefined,
    stream: /(?:^|&)stream=true(?:&|$)/u.test(query),
    bodyBytes,
    maxOutputTokens: undefined,
    usageAsked: false,
    encodingFormat: undefined,
    continues: [id],
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
