import type { BodyFacts } from "./facts.ts";
import { opaqueFacts } from "./opaque-facts.ts";

/** The facts of a call about one stored response (P8): it names no model, and its body, if it has one, is nobody's business. */
export function factsOfStored(id: string, query: string, bodyBytes: number): BodyFacts {
  const stream = /(?:^|&)stream=true(?:&|$)/u.test(query);
  return { ...opaqueFacts("responses", bodyBytes), stream, continues: [id] };
}
