import { failure } from "@switchyard/rpc";
import type { ConnectError } from "@switchyard/rpc";
import type { Endpoint } from "@switchyard/core";
import { callerAnswer } from "./answers.ts";
import type { AttemptFailure } from "../attempt/attempt-failure.ts";
import type { AttemptLog } from "../report/attempt-log.ts";
import { headerOf } from "../bytes.ts";
import { statusOfClass } from "./class-status.ts";

/** Metadata of a refusal that callers are not to try again. */
export const NO_RETRY = { should_retry: "false" } as const;

/** What a caller gets when everything failed (E7): a provider's answer, or an error in our own words. */
export type LastAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers: readonly string[];
      readonly body: Uint8Array;
    }
  | { readonly kind: "error"; readonly error: ConnectError };

/**
 * E7: what the caller gets for `failed`, the last attempt that had an HTTP answer. `final`: the same request again can't
 * help; what the provider says of that itself goes on as it is.
 */
export function lastAnswer(
  failed: AttemptFailure,
  endpoint: Endpoint,
  requestId: string,
  log: AttemptLog,
  final: boolean,
): LastAnswer {
  const { answer } = failed;
  if (answer === undefined || answer === "unusable") {
    const error = failure("upstream_invalid_response", failed.message, {
      status: 502,
      metadata: { attempts: log.header(), ...(final ? NO_RETRY : {}) },
    });
    return { kind: "error", error };
  }
  // An error inside a stream has no status of its own.
  const inStream = answer.status >= 200 && answer.status <= 299;
  const status = inStream ? statusOfClass(failed.error) : answer.status;
  const { headers, body } = callerAnswer(endpoint, status, answer, requestId);
  const { retryAfterMs } = failed;
  // Google says it in the body alone, where SDKs don't look.
  if (retryAfterMs !== undefined && headerOf(headers, "retry-after") === undefined) {
    headers.push("retry-after", String(Math.ceil(retryAfterMs / 1000)));
    if (headerOf(headers, "retry-after-ms") === undefined)
      headers.push("retry-after-ms", String(retryAfterMs));
  }
  if (final && headerOf(headers, "x-should-retry") === undefined) headers.push("x-should-retry", "false");
  headers.push("x-ants-attempts", log.header());
  return { kind: "answer", status, headers, body };
}

/** E7 where no provider answered and the router, which would have said so, is away. */
export function nobodyAnswered(log: AttemptLog): ConnectError {
  const metadata = { attempts: log.header() };
  return log.entries.at(-1)?.error === "timeout"
    ? failure("upstream_timeout", "No provider answered in time.", { status: 504, metadata })
    : failure("upstream_unreachable", "No provider could be reached.", { status: 502, metadata });
}
