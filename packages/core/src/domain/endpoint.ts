/** What a request asks for, whatever the path was spelled like. `native` is a path of `native_endpoints`, forwarded as it is. */
export const ENDPOINTS = ["chat", "embeddings", "responses", "messages", "count_tokens", "native"] as const;

/** One of {@link ENDPOINTS}. */
export type Endpoint = (typeof ENDPOINTS)[number];

/** Kinds of work that a deployment may be bound to by its `type` (R4). */
export type DeploymentType = "chat" | "embedding";

/** The kind of work that an endpoint is. */
export function typeOfEndpoint(endpoint: Endpoint): DeploymentType {
  return endpoint === "embeddings" ? "embedding" : "chat";
}

/** Endpoints on which D's `failover.native_on` replaces `failover.on` (E10). */
export function isNativeEndpoint(endpoint: Endpoint): boolean {
  return endpoint === "responses" || endpoint === "messages" || endpoint === "count_tokens";
}
