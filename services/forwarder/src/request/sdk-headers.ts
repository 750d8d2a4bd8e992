import { headerOf } from "../bytes.ts";

/** Most tries that an SDK is believed to have made. */
const MOST_RETRIES = 100;
/** Longest wait that an SDK is believed to have, s: a day. */
const LONGEST_S = 86_400;

/** What the callers' SDKs say of their own tries, in headers that all of them send. */
export interface SdkFacts {
  /** Earlier tries of the same request. */
  readonly retries: number;
  /** When the caller stops waiting for response headers, epoch ms; undefined where it waits for ever. */
  readonly deadline: number | undefined;
}

/**
 * Reads `x-stainless-retry-count` and the SDK's time-out, whole seconds or, of SDKs in Python, the time between bytes.
 * Less than a second is written as 0, which bounds nothing. The deadline of an RPC holds too: the earlier one counts.
 */
export function readSdkFacts(
  headers: readonly string[],
  arrivedAt: number,
  rpcDeadline: number | undefined,
): SdkFacts {
  const count = headerOf(headers, "x-stainless-retry-count");
  const seconds = headerOf(headers, "x-stainless-timeout") ?? headerOf(headers, "x-stainless-read-timeout");
  const retries = count === undefined || !/^\d{1,9}$/.test(count) ? 0 : Math.min(MOST_RETRIES, Number(count));
  const wait = seconds === undefined || !/^\d{1,9}(\.\d{1,9})?$/.test(seconds) ? 0 : Number(seconds);
  const own = wait === 0 || wait > LONGEST_S ? Number.POSITIVE_INFINITY : arrivedAt + wait * 1_000;
  const deadline = Math.min(own, rpcDeadline ?? Number.POSITIVE_INFINITY);
  return { retries, deadline: deadline === Number.POSITIVE_INFINITY ? undefined : deadline };
}
