/** From what a request has to the hashes of its affinity keys (F3 to F6). The keys themselves come no further (F7). */
import type { AffinityHashes } from "../domain/affinity.ts";
import type { CallerKey } from "../domain/config-snapshot.ts";
import type { AffinityPolicy } from "../domain/policy.ts";
import { affinityValue } from "./affinity-value.ts";
import { hashKey } from "../domain/hash-key.ts";
import { parseExpression } from "./parse-expression.ts";
import {
  callerName,
  selectFromKey,
  selectFromRequest,
  type SelectableRequest,
  type Selector,
} from "./selector.ts";

/** Headers that name a session (F3), in their order; the body's `prompt_cache_key`, `metadata.user_id`, `user` follow. */
export const SESSION_HEADERS = ["x-session-id", "x-claude-code-session-id"] as const;

/**
 * `by: session`: hash of the first candidate that is a string with something in it.
 *
 * @param candidates values of {@link SESSION_HEADERS}, then of the body, in F3's order; undefined where absent
 */
export function sessionHash(candidates: readonly unknown[]): number | undefined {
  for (const candidate of candidates) {
    if (typeof candidate === "string" && candidate !== "") return hashKey(candidate);
  }
  return undefined;
}

/**
 * `by: expression` of a selector that reads the request: a hash, or why what it found is no key, for the log (F6).
 * Undefined where it found nothing.
 */
export function expressionHash(
  selector: Selector,
  request: SelectableRequest,
): { readonly hash: number } | { readonly why: string } | undefined {
  const found = selectFromRequest(selector, request);
  if (found === undefined) return undefined;
  const value = affinityValue(found);
  return value.ok ? { hash: hashKey(value.text) } : { why: value.why };
}

/**
 * The hash that places a request under a policy; undefined where it has no such key and takes the strategy.
 *
 * @param caller absent where nobody is known: callers without a key are not one caller
 */
export function affinityHash(
  policy: AffinityPolicy,
  hashes: AffinityHashes | undefined,
  caller: CallerKey | undefined,
): number | undefined {
  switch (policy.by) {
    case "none":
      return undefined;
    case "session":
      return hashes?.session ?? callerHash(caller);
    case "user":
      return callerHash(caller);
    case "conversation":
      return hashes?.conversation;
    case "expression":
      return hashes?.expressions?.get(policy.expression ?? "") ?? keyExpressionHash(policy, caller);
  }
}

// Keys and policies never change (invariant 8), so what follows from them may be remembered beside them.
const callers = new WeakMap<CallerKey, number | "none">();
const selectors = new WeakMap<AffinityPolicy, Selector | "none">();

function callerHash(caller: CallerKey | undefined): number | undefined {
  if (caller === undefined) return undefined;
  let hash = callers.get(caller);
  if (hash === undefined) {
    const value = affinityValue(callerName(caller));
    hash = value.ok ? hashKey(value.text) : "none";
    callers.set(caller, hash);
  }
  return hash === "none" ? undefined : hash;
}

function keyExpressionHash(policy: AffinityPolicy, caller: CallerKey | undefined): number | undefined {
  if (caller === undefined) return undefined;
  let selector = selectors.get(policy);
  if (selector === undefined) {
    const parsed = parseExpression(policy.expression ?? "");
    selector = parsed.ok ? parsed.selector : "none";
    selectors.set(policy, selector);
  }
  if (selector === "none") return undefined;
  if (selector.from === "user_sub") return callerHash(caller);
  const value = affinityValue(selectFromKey(selector, caller));
  return value.ok ? hashKey(value.text) : undefined;
}
