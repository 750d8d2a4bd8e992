import { create } from "@bufbuild/protobuf";
import type { JsonObject } from "@bufbuild/protobuf";
import { InferRequestSchema } from "@switchyard/proto/inference/v1/inference_service";
import type { Header, InferRequest, InferResponse } from "@switchyard/proto/inference/v1/inference_service";
import { CallContext } from "@switchyard/rpc";
import type { Call, StreamMethod } from "@switchyard/rpc";

/** How a request is served as bytes: the one way for all. */
export type Serve = StreamMethod<InferRequest, InferResponse>;

/** The caller's call with its metadata, deadline and leaving, which can also be ended for a reason of our own. */
export function innerCall(call: Call): CallContext {
  const headers = new Map<string, string>();
  call.eachHeader((name, value) => headers.set(name, value));
  return new CallContext({ headers, parent: call });
}

/** The same request as bytes. */
export function innerRequest(
  path: string,
  { requestId, headers }: { readonly requestId: string; readonly headers: Header[] },
  body: JsonObject,
): InferRequest {
  const bytes = new TextEncoder().encode(JSON.stringify(body));
  return create(InferRequestSchema, { method: "POST", path, requestId, headers, body: bytes });
}
