import type { Head } from "@switchyard/proto/inference/v1/inference_service";
import type { Face } from "./routes.ts";

/** An answer's head, ready to be written. */
export interface ResponseHead {
  readonly status: number;
  /** Names and values in turn; without framing. */
  readonly headers: string[];
  /** What the head said; the writer decides whether it is told. */
  readonly contentLength: number | undefined;
  readonly eventStream: boolean;
}

/** Framing and the connection are this server's own. */
const OWN = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-request-id",
]);

/** The head as the caller gets it (H2); undefined when its status is none that ends an exchange. */
export function readResponseHead(head: Head, face: Face, requestId: string): ResponseHead | undefined {
  const { status } = head;
  if (status < 200 || status > 599) return undefined;
  const headers: string[] = ["x-request-id", requestId];
  let contentLength: number | undefined;
  let eventStream = false;
  let buffering = false;
  let anthropicId = false;
  for (const { name, value } of head.headers) {
    if (OWN.has(name)) continue;
    if (name === "content-length") {
      const length = Number(value);
      if (Number.isSafeInteger(length) && length >= 0) contentLength = length;
      continue;
    }
    if (name === "content-type") eventStream = isEventStream(value);
    else if (name === "x-accel-buffering") buffering = true;
    else if (name === "request-id") anthropicId = true;
    headers.push(name, value);
  }
  // Reverse proxies in front would hold tokens back.
  if (eventStream && !buffering) headers.push("x-accel-buffering", "no");
  if (face === "anthropic" && !anthropicId) headers.push("request-id", requestId);
  return { status, headers, contentLength, eventStream };
}

function isEventStream(contentType: string): boolean {
  return contentType.slice(0, 17).toLowerCase() === "text/event-stream";
}
