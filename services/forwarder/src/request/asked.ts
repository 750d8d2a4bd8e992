import { factsOfNative, factsOfStored, readRequestFacts } from "@switchyard/providers";
import type { BodyFacts, BodyFault, NativeCall, StoredCall } from "@switchyard/providers";
import type { InferRequest } from "@switchyard/proto/inference/v1/inference_service";
import { failure } from "@switchyard/rpc";
import type { ConnectError } from "@switchyard/rpc";
import { endpointOf } from "./endpoints.ts";
import { isModelsPath } from "../reply/models.ts";
import { readStoredCall } from "./stored-request.ts";

/** What a request asks for. */
export interface Asked {
  readonly facts: BodyFacts;
  /** A call about a stored response; undefined for all others. */
  readonly storedCall: StoredCall | undefined;
  /** A call of a native endpoint; undefined for all others. */
  readonly nativeCall: NativeCall | undefined;
}

/**
 * Reads what routing needs of a request; `nativePaths` are those of the config. Throws for a path that is not served, a method that it does
 * not take, or a body that can't be routed.
 */
export function readAsked(
  { method, path, query, headers, body }: InferRequest,
  nativePaths: ReadonlySet<string>,
): Asked {
  const named = readStoredCall(method, path);
  if (named?.call !== undefined) {
    return {
      facts: factsOfStored(named.id, query, body.length),
      storedCall: named.call,
      nativeCall: undefined,
    };
  }
  const endpoint = endpointOf(method, path);
  if (endpoint === undefined) {
    const isNative = nativePaths.has(path);
    if (isNative && method === "POST") {
      const type = headers.find(({ name }) => name.toLowerCase() === "content-type")?.value;
      const native = factsOfNative(path, body, type);
      if (!native.ok) throw bodyFailure(native.fault);
      return { facts: native.facts, storedCall: undefined, nativeCall: native.call };
    }
    if (isNative || named !== undefined || isModelsPath(path) || endpointOf("POST", path) !== undefined) {
      throw failure("method_not_allowed", `${path} can't be called with ${method}`, { status: 405 });
    }
    throw failure("not_found", `${method} ${path} is not served`, { status: 404 });
  }
  const read = readRequestFacts(endpoint, body);
  if (read.ok) return { facts: read.facts, storedCall: undefined, nativeCall: undefined };
  throw bodyFailure(read.fault);
}

/** The refusal of a body that can't be routed. */
export function bodyFailure({ code, message, param }: BodyFault): ConnectError {
  return failure(code, message, { status: 400, metadata: param === null ? {} : { param } });
}
