import { compileGroups } from "@switchyard/config";
import { affinityNeeds, expressionHash, hashKey, SESSION_HEADERS, sessionHash } from "@switchyard/core";
import type { AffinityNeeds, SelectableRequest } from "@switchyard/core";
import type { Config } from "@switchyard/proto/config/v1/config";
import type { AffinityHashes } from "@switchyard/proto/routing/v1/routing_service";
import { readConversationText, readSessionKey } from "@switchyard/providers";
import type { BodyFacts } from "@switchyard/providers";
import { headerOf } from "../bytes.ts";

/** A request as affinity keys are read from it. */
export interface AffinitySource {
  readonly facts: BodyFacts;
  readonly body: Uint8Array;
  /** Without its question mark. */
  readonly query: string;
  /** Flat, lower-case names. */
  readonly headers: readonly string[];
}

/** What became of a request's affinity keys. The keys themselves go no further (F7). */
export interface RequestAffinity {
  /** Absent where it has none that a group asks for. */
  readonly hashes: AffinityHashes | undefined;
  /** F6: why what an expression selects in the request is no key, by the expression. */
  readonly rejected: ReadonlyMap<string, string>;
}

const NOTHING: RequestAffinity = { hashes: undefined, rejected: new Map() };

/** Hashes the affinity keys of requests, of those kinds only that a group of the config asks for. */
export class AffinityReader {
  #needs: AffinityNeeds | undefined;

  use(config: Config): void {
    const needs = affinityNeeds({ groups: compileGroups(config) });
    const any = needs.session || needs.conversation || needs.expressions.size > 0;
    this.#needs = any ? needs : undefined;
  }

  read(source: AffinitySource): RequestAffinity {
    const needs = this.#needs;
    if (needs === undefined) return NOTHING;
    const hashes: AffinityHashes = { $typeName: "switchyard.routing.v1.AffinityHashes", expressions: {} };
    let found = false;
    const session = needs.session ? sessionOf(source) : undefined;
    if (session !== undefined) {
      hashes.session = session;
      found = true;
    }
    const conversation = needs.conversation ? readConversationText(source.body, source.facts) : undefined;
    if (conversation !== undefined) {
      hashes.conversation = hashKey(conversation);
      found = true;
    }
    const rejected = new Map<string, string>();
    if (needs.expressions.size > 0) {
      const request = selectable(source);
      for (const [expression, selector] of needs.expressions) {
        const result = expressionHash(selector, request);
        if (result === undefined) continue;
        if ("why" in result) {
          rejected.set(expression, result.why);
          continue;
        }
        hashes.expressions[expression] = result.hash;
        found = true;
      }
    }
    return { hashes: found ? hashes : undefined, rejected };
  }
}

function sessionOf({ headers, body, facts }: AffinitySource): number | undefined {
  const named = SESSION_HEADERS.map((name) => headerOf(headers, name));
  return sessionHash([...named, readSessionKey(body, facts)]);
}

/** None of the paths that are served has parameters. */
function selectable({ headers, query }: AffinitySource): SelectableRequest {
  let parsed: URLSearchParams | undefined;
  return {
    header: (name) => headerOf(headers, name),
    query: (name) => (parsed ??= new URLSearchParams(query)).get(name) ?? undefined,
    param: () => undefined,
  };
}
