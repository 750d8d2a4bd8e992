import type { ConfigSnapshot } from "../domain/config-snapshot.ts";
import { parseExpression } from "./parse-expression.ts";
import { selectorReads, type Selector } from "./selector.ts";

/** Which affinity keys any group of a config asks for: what no group asks for need not be read and hashed. */
export interface AffinityNeeds {
  readonly session: boolean;
  readonly conversation: boolean;
  /** Selectors that read the request, by the source of their expression; those that read the key are `decide`'s. */
  readonly expressions: ReadonlyMap<string, Selector>;
}

/** What the groups of a config need. To be asked once for each config. */
export function affinityNeeds(config: Pick<ConfigSnapshot, "groups">): AffinityNeeds {
  let session = false;
  let conversation = false;
  const expressions = new Map<string, Selector>();
  for (const { policy } of config.groups.values()) {
    const { by, expression } = policy.affinity ?? { by: "none", expression: undefined };
    if (by === "session") session = true;
    if (by === "conversation") conversation = true;
    if (by !== "expression" || expression === undefined || expressions.has(expression)) continue;
    const parsed = parseExpression(expression);
    if (parsed.ok && selectorReads(parsed.selector) === "request")
      expressions.set(expression, parsed.selector);
  }
  return { session, conversation, expressions };
}
