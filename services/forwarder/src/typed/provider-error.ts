import type { JsonObject } from "@bufbuild/protobuf";
import type { Head } from "@switchyard/proto/inference/v1/inference_service";
import { failure } from "@switchyard/rpc";
import type { ConnectError } from "@switchyard/rpc";
import { objectOf, textOf } from "./json.ts";
import { headerIn, isSuccess, readAttempts } from "./served.ts";

/** An error inside a stream has no status of its own. */
const IN_STREAM = 502;

/**
 * A provider's error as an RPC error: ErrorInfo's reason is the provider's own code, or its type, or the error's class as
 * the attempts have it; the metadata has the HTTP status, the attempts (H1) and how long to wait.
 */
export function providerError(head: Head | undefined, answer: JsonObject | undefined): ConnectError {
  const said = objectOf(answer?.["error"]) ?? {};
  const named = textOf(said["code"]) ?? textOf(said["type"]);
  const reason = named === undefined || named === "" ? lastClass(head) : named;
  const message = textOf(said["message"]) ?? "the provider refused";
  return failure(reason, message, { status: statusOf(head, said), metadata: metadataOf(head) });
}

function lastClass(head: Head | undefined): string {
  return readAttempts(head).at(-1)?.error ?? "provider_error";
}

function statusOf(head: Head | undefined, said: JsonObject): number {
  if (head !== undefined && !isSuccess(head)) return head.status;
  const code = said["code"];
  return typeof code === "number" && Number.isInteger(code) && code >= 400 && code <= 599 ? code : IN_STREAM;
}

function metadataOf(head: Head | undefined): Record<string, string> {
  const attempts = headerIn(head, "x-ants-attempts");
  const seconds = headerIn(head, "retry-after");
  const precise = headerIn(head, "retry-after-ms");
  const again = headerIn(head, "x-should-retry");
  return {
    ...(attempts === undefined ? {} : { attempts }),
    ...(again === undefined ? {} : { should_retry: again }),
    ...waitOf(Number(precise ?? Number.NaN), Number(seconds ?? Number.NaN)),
  };
}

/** A date is left to those who read the headers: in types it is a time to wait or nothing. */
function waitOf(ms: number, seconds: number): Record<string, string> {
  const wait = Number.isFinite(ms) ? ms : seconds * 1000;
  return Number.isFinite(wait) && wait >= 0 ? { retry_after_ms: String(Math.ceil(wait)) } : {};
}
