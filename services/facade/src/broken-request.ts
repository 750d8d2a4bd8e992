import { randomUUID } from "node:crypto";
import type { Socket } from "node:net";
import type { Logger, Metrics } from "@switchyard/telemetry";
import type { Exchange } from "./exchange.ts";
import { errorBody, type Refusal, refusal } from "./refusal.ts";

/** How long a caller that sent no HTTP may go on before its connection is cut, ms. */
const LINGER_MS = 1000;

/** The code of a CONNECT, beside those of node's parser. */
export const NO_PROXY = "CONNECT";

export const MALFORMED = refusal(400, "invalid_request", "this is not well-formed HTTP/1.1");
const HEADER_TOO_LARGE = refusal(431, "invalid_request", "the request header is too large");
const TOO_SLOW = refusal(408, "invalid_request", "the request did not arrive in time");

const NOT_A_PROXY = refusal(405, "method_not_allowed", "this is no proxy: CONNECT is not served");

const STATUS_TEXT: Readonly<Record<number, string>> = {
  400: "Bad Request",
  405: "Method Not Allowed",
  408: "Request Timeout",
  431: "Request Header Fields Too Large",
};

/** Answers what the HTTP parser gave up on. `open` is the exchange whose request or answer is under way there. */
export function answerBrokenRequest(
  error: { readonly code?: string | undefined },
  socket: Socket,
  open: Exchange | undefined,
  metrics: Metrics,
  logger: Logger,
): void {
  if (error.code === "ECONNRESET" || socket.destroyed) {
    socket.destroy();
    return;
  }
  if (socket.writableEnded) return;
  const cause = causeOf(error.code);
  if (open !== undefined) {
    if (open.answer.started || open.answer.over) socket.destroy();
    else open.refuse(cause, true);
    return;
  }
  const requestId = randomUUID();
  metrics.refusal(cause.code).inc();
  logger.info("request refused", {
    request: requestId,
    status: cause.status,
    code: cause.code,
    parser: error.code,
  });
  const body = errorBody("openai", cause, requestId);
  socket.write(
    `HTTP/1.1 ${cause.status} ${STATUS_TEXT[cause.status] ?? ""}\r\ncontent-type: application/json\r\nx-request-id: ${requestId}\r\n` +
      `content-length: ${body.length}\r\nconnection: close\r\n\r\n`,
  );
  socket.end(body);
  // Cutting at once would reset the answer away from a caller that is still sending.
  setTimeout(() => socket.destroy(), LINGER_MS).unref();
}

function causeOf(code: string | undefined): Refusal {
  if (code === "HPE_HEADER_OVERFLOW") return HEADER_TOO_LARGE;
  if (code === NO_PROXY) return NOT_A_PROXY;
  return code === "ERR_HTTP_REQUEST_TIMEOUT" ? TOO_SLOW : MALFORMED;
}
