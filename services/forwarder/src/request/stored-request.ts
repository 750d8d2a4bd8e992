import { create } from "@bufbuild/protobuf";
import { KeptResponseSchema } from "@switchyard/proto/routing/v1/routing_service";
import type { KeptResponse } from "@switchyard/proto/routing/v1/routing_service";
import type { StoredResponse } from "@switchyard/proto/events/v1/events";
import type { BodyFacts, StoredCall } from "@switchyard/providers";
import { FIND_MS, type KeptResponses } from "./kept-responses.ts";
import { settle } from "../settle.ts";

const PREFIX = "/v1/responses/";
/** Ids go into the provider's path as they are, so they hold nothing that a path could be changed with. */
const ID = /^[\w-]{1,256}$/;
/** A request may name many stored items. As many are asked for of those that this replica does not know itself. */
const MOST_FINDS = 32;
const METHODS: ReadonlyMap<string, readonly string[]> = new Map([
  ["", ["GET", "DELETE"]],
  ["/input_items", ["GET"]],
  ["/cancel", ["POST"]],
]);

/** A call about one stored response. */
export interface NamedResponse {
  readonly id: string;
  /** Undefined: the path is known, and not called with this method. */
  readonly call: StoredCall | undefined;
}

/** Reads such a call from its method and path; undefined where the path is another. */
export function readStoredCall(method: string, path: string): NamedResponse | undefined {
  if (!path.startsWith(PREFIX)) return undefined;
  const rest = path.slice(PREFIX.length);
  const slash = rest.indexOf("/");
  const id = slash < 0 ? rest : rest.slice(0, slash);
  const methods = METHODS.get(slash < 0 ? "" : rest.slice(slash));
  if (methods === undefined || !ID.test(id)) return undefined;
  const call = { method: method as StoredCall["method"], path: `/${rest}` };
  return { id, call: methods.includes(method) ? call : undefined };
}

/**
 * Goes on with the account that keeps what a request reads or continues; with an empty one where nobody remembers in time, which routing makes
 * the best of. At once where there is nothing to look for: with undefined where the request names nothing.
 */
export function findKept(
  { continues }: BodyFacts,
  responses: KeptResponses,
  goOn: (kept: KeptResponse | undefined) => void,
): void {
  if (continues.length === 0) {
    goOn(undefined);
    return;
  }
  const known = responses.known(continues);
  const unknown = continues.filter((id) => !known.has(id)).slice(0, MOST_FINDS);
  if (unknown.length === 0) {
    goOn(keptOf(continues, known));
    return;
  }
  settle(
    () => Promise.all(unknown.map(async (id) => learn(responses, id, known))),
    () => goOn(keptOf(continues, known)),
    () => goOn(keptOf(continues, known)),
    FIND_MS,
  );
}

/** One that can't be looked up is as good as one that is not there. */
async function learn(
  responses: KeptResponses,
  id: string,
  known: Map<string, StoredResponse>,
): Promise<void> {
  try {
    const found = await responses.find(id);
    if (found !== undefined) known.set(id, found);
  } catch {
    // The store is away.
  }
}

/** What routing is told: where the first id is kept that is known, and which groups made the others. */
function keptOf(ids: readonly string[], known: ReadonlyMap<string, StoredResponse>): KeptResponse {
  let first: StoredResponse | undefined;
  const others = new Set<string>();
  for (const id of ids) {
    const entry = known.get(id);
    first ??= entry;
    if (entry !== undefined && entry.groupKey !== first?.groupKey) others.add(entry.groupKey);
  }
  const { provider = "", groupKey = "", servedBy = "" } = first ?? {};
  return create(KeptResponseSchema, { provider, groupKey, servedBy, otherGroupKeys: [...others] });
}
