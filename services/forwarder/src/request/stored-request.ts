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
/** A request may name many stored items; they are of one account, so a few are asked for. */
const MOST_FINDS = 4;
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
 * Goes on with the account that keeps what a request reads or continues; with undefined where nobody remembers in time, which routing makes
 * the best of. At once where there is nothing to look for.
 */
export function findKept(
  { continues }: BodyFacts,
  responses: KeptResponses,
  goOn: (kept: StoredResponse | undefined) => void,
): void {
  const known = responses.known(continues);
  if (known !== undefined || continues.length === 0) {
    goOn(known);
    return;
  }
  settle(
    () => firstFound(responses, continues.slice(0, MOST_FINDS)),
    goOn,
    () => goOn(undefined),
    FIND_MS,
  );
}

/** All at once, since there is little time; one that can't be looked up is as good as one that is not there. */
async function firstFound(
  responses: KeptResponses,
  ids: readonly string[],
): Promise<StoredResponse | undefined> {
  const finds = await Promise.allSettled(ids.map((id) => responses.find(id)));
  for (const find of finds) {
    if (find.status === "fulfilled" && find.value !== undefined) return find.value;
  }
  return undefined;
}

/** What routing is told of it; empty where nobody remembers. */
export function keptToWire(kept: StoredResponse | undefined): KeptResponse {
  const { provider = "", groupKey = "", servedBy = "" } = kept ?? {};
  return create(KeptResponseSchema, { provider, groupKey, servedBy });
}
