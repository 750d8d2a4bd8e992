import type { JsonObject } from "@bufbuild/protobuf";
import type { Head, InferRequest, Trailer } from "@switchyard/proto/inference/v1/inference_service";
import type { Call } from "@switchyard/rpc";
import { concat } from "../bytes.ts";
import { innerCall } from "./inner-call.ts";
import type { Serve } from "./inner-call.ts";
import { parseObject, unreadable } from "./json.ts";
import { providerError } from "./provider-error.ts";
import { isSuccess } from "./served.ts";

/** One message can't hold more, and neither should the memory. */
const MOST_BYTES = 64 * 1024 * 1024;

/** A success. */
export interface WholeAnswer {
  readonly head: Head;
  readonly answer: JsonObject;
  readonly trailer: Trailer;
}

/** Serves the request and waits for its whole answer. Rejects with a ConnectError: a refusal's own, or a provider's error. */
export function wholeAnswer(serve: Serve, request: InferRequest, call: Call): Promise<WholeAnswer> {
  const inner = innerCall(call);
  const pieces: Uint8Array[] = [];
  let size = 0;
  let head: Head | undefined;
  let trailer: Trailer | undefined;
  return new Promise<WholeAnswer>((resolve, reject) => {
    const sink: Parameters<Serve>[1] = {
      send({ part }) {
        if (part.case === "head") head = part.value;
        else if (part.case === "trailer") trailer = part.value;
        else if (part.case === "chunk") {
          size += part.value.length;
          if (size <= MOST_BYTES) pieces.push(part.value);
          else {
            pieces.length = 0;
            reject(unreadable("it is too large"));
            inner.cancel();
          }
        }
        return true;
      },
      end() {
        const answer = parseObject(concat(pieces, size));
        if (head === undefined || !isSuccess(head)) reject(providerError(head, answer));
        else if (trailer === undefined) reject(unreadable("it has no end"));
        else if (answer === undefined) reject(unreadable("it is no JSON object"));
        else resolve({ head, answer, trailer });
      },
      fail: reject,
      onDrain() {},
    };
    serve(request, sink, inner);
  }).finally(() => inner.release());
}
