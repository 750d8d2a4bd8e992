import type { Endpoint } from "@switchyard/core";
import { Endpoint as Wire } from "@switchyard/proto/config/v1/config";

const POST_PATHS: ReadonlyMap<string, Endpoint> = new Map([
  ["/v1/chat/completions", "chat"],
  ["/v1/embeddings", "embeddings"],
  ["/v1/responses", "responses"],
  ["/v1/messages", "messages"],
  ["/v1/messages/count_tokens", "count_tokens"],
]);

const WIRE: Readonly<Record<Endpoint, Wire>> = {
  chat: Wire.CHAT,
  embeddings: Wire.EMBEDDINGS,
  responses: Wire.RESPONSES,
  messages: Wire.MESSAGES,
  count_tokens: Wire.COUNT_TOKENS,
  native: Wire.NATIVE,
};

/** The endpoint of a request, by method and path; undefined where there is none that routes, or a native one. */
export function endpointOf(method: string, path: string): Endpoint | undefined {
  return method === "POST" ? POST_PATHS.get(path) : undefined;
}

export function endpointToWire(endpoint: Endpoint): Wire {
  return WIRE[endpoint];
}
