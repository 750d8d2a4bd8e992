import { callerHeaders, dialectOf } from "@switchyard/providers";
import type { Endpoint } from "@switchyard/core";
import type { RealAnswer } from "../attempt/real-answer.ts";

const JSON_TYPE = "application/json";
const STREAM_TYPE = "text/event-stream; charset=utf-8";
/** Describes bytes that are no longer what the caller gets. */
const OF_THE_BODY = new Set(["content-type", "content-encoding", "etag", "content-md5", "digest"]);

/**
 * Headers of an answer that serves; flat, the caller may add to them. One that was told in other words is of the type of those: a stream's
 * where it streams.
 */
export function servedHeaders(headers: readonly string[], told?: "whole" | "stream"): string[] {
  if (told === undefined) return callerHeaders(headers);
  return ofOtherBody(headers, told === "stream" ? STREAM_TYPE : JSON_TYPE);
}

function ofOtherBody(providerHeaders: readonly string[], type: string): string[] {
  const all = callerHeaders(providerHeaders);
  const headers: string[] = ["content-type", type];
  for (let at = 0; at + 1 < all.length; at += 2) {
    if (!OF_THE_BODY.has(all[at] as string)) headers.push(all[at] as string, all[at + 1] as string);
  }
  return headers;
}

/** E7: a provider's own error in the caller's dialect, with the headers that matter; on a native endpoint as it is. */
export function callerAnswer(
  endpoint: Endpoint,
  status: number,
  answer: RealAnswer,
  requestId: string,
): { readonly headers: string[]; readonly body: Uint8Array } {
  if (endpoint === "native") return { headers: callerHeaders(answer.headers), body: answer.body };
  const body = dialectOf(endpoint).providerErrorBody(status, answer.body, requestId, answer.headers);
  const headers = ofOtherBody(answer.headers, JSON_TYPE);
  return { headers, body };
}

/** The provider's error inside a stream, as an event of the caller's dialect. */
export function errorEvent(
  endpoint: Endpoint,
  status: number,
  data: Uint8Array,
  requestId: string,
  sequence?: number,
): Uint8Array {
  return dialectOf(endpoint).providerErrorEvent(status, data, requestId, sequence);
}
