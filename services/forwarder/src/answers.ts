import {
  callerHeaders,
  convertEmbeddings,
  createChatStreamReader,
  dialectOf,
  readChatAnswer,
  readEmbeddingsAnswer,
} from "@switchyard/providers";
import type { BodyEndpoint, StreamReader, TokenUsage } from "@switchyard/providers";
import type { RealAnswer } from "./attempt-failure.ts";

/** What a success that does not stream turned out to be. */
export type ReadAnswer =
  | {
      readonly kind: "usable";
      readonly body: Uint8Array;
      readonly usage: TokenUsage | undefined;
      readonly model: string | undefined;
    }
  | { readonly kind: "error" }
  | { readonly kind: "unusable"; readonly reason: string };

/** Reads a success that does not stream, and gives embeddings the format that was asked for (BH-29). */
export function readAnswer(
  endpoint: BodyEndpoint,
  body: Uint8Array,
  encodingFormat: "float" | "base64" | undefined,
): ReadAnswer {
  const reading = endpoint === "embeddings" ? readEmbeddingsAnswer(body) : readChatAnswer(body);
  switch (reading.kind) {
    case "error":
      return reading;
    case "invalid":
      return { kind: "unusable", reason: `the provider's answer can't be used: ${reading.reason}` };
    case "usable": {
      const { usage, model } = reading;
      const converted = endpoint === "embeddings" ? convertEmbeddings(body, encodingFormat ?? "float") : body;
      return { kind: "usable", body: converted, usage, model };
    }
  }
}

/** Follows a stream of the endpoint. */
export function streamReaderFor(_endpoint: BodyEndpoint, stripUsage: boolean): StreamReader {
  return createChatStreamReader({ stripUsage });
}

/** Headers of an answer that serves; flat, the caller may add to them. */
export function servedHeaders(headers: readonly string[]): string[] {
  return callerHeaders(headers);
}

const JSON_TYPE = "application/json";
/** Describes bytes that are no longer what the caller gets. */
const OF_THE_BODY = new Set(["content-type", "content-encoding", "etag", "content-md5", "digest"]);

/** E7: a provider's own error in the caller's dialect, with the headers that matter. */
export function callerAnswer(
  endpoint: BodyEndpoint,
  status: number,
  answer: RealAnswer,
  requestId: string,
): { readonly headers: string[]; readonly body: Uint8Array } {
  const body = dialectOf(endpoint).providerErrorBody(status, answer.body, requestId);
  const all = callerHeaders(answer.headers);
  const headers: string[] = ["content-type", JSON_TYPE];
  for (let at = 0; at + 1 < all.length; at += 2) {
    if (!OF_THE_BODY.has(all[at] as string)) headers.push(all[at] as string, all[at + 1] as string);
  }
  return { headers, body };
}

/** The provider's error inside a stream, as an event of the caller's dialect. */
export function errorEvent(
  endpoint: BodyEndpoint,
  status: number,
  data: Uint8Array,
  requestId: string,
): Uint8Array {
  return dialectOf(endpoint).providerErrorEvent(status, data, requestId);
}
