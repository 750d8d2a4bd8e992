import { factsOfStored, readRequestFacts } from "@switchyard/providers";
import type { BodyFacts, StoredCall } from "@switchyard/providers";
import type { InferRequest } from "@switchyard/proto/inference/v1/inference_service";
import { failure } from "@switchyard/rpc";
import { endpointOf } from "./endpoints.ts";
import { isModelsPath } from "../reply/models.ts";
import { readStoredCall } from "./stored-request.ts";

/** What a request asks for. */
export interface Asked {
  readonly facts: BodyFacts;
  /** A call about a stored response; undefined for all others. */
  readonly storedCall: StoredCall | undefined;
}

/** Reads what routing needs of a request. Throws for a path that is not served, a method that it does not take, or a body that can't be routed. */
export function readAsked({ method, path, query, body }: InferRequest): Asked {
  const named = readStoredCall(method, path);
  if (named?.call !== undefined) {
    return { facts: factsOfStored(named.id, query, body.length), storedCall: named.call };
  }
  const endpoint = endpointOf(method, path);
  if (endpoint === undefined) {
    if (named !== undefined || isModelsPath(path) || endpointOf("POST", path) !== undefined) {
      throw failure("method_not_allowed", `${path} can't be called with ${method}`, { status: 405 });
    }
    throw failure("not_found", `${method} ${path} is not served`, { status: 404 });
  }
  const read = readRequestFacts(endpoint, body);
  if (read.ok) return { facts: read.facts, storedCall: undefined };
  const { code, message, param } = read.fault;
  throw failure(code, message, { status: 400, metadata: param === null ? {} : { param } });
}
