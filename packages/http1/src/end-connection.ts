import type { Socket } from "node:net";
import { hasToken } from "./framing.ts";
import type { ResponseHead } from "./head.ts";
import { PATIENCE } from "./patience.ts";

/**
 * What a server says on a connection that it ends between two answers: no request behind the last answered one was
 * processed, and none will be. RFC 9110, 15.5.9: whoever has one on its way there may repeat it, whatever it is.
 */
export const FAREWELL = "HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";

/** Whether it is a farewell and no answer: an answer of that status says what its body is. */
export function isFarewell({ status, fields }: ResponseHead): boolean {
  return status === 408 && hasToken(fields.list("connection"), "close") && fields.count("content-type") === 0;
}

/** How long a peer may be silent that was told of the end, ms. */
const SILENT_MS = 1000;
/** As long as it sends, it may send that long, ms. */
const SENDING_MS = 10_000;

/**
 * Ends a connection with these last words: what still comes is read and dropped until the peer closes, because a closed
 * socket answers bytes with a reset, which takes from the peer what it has not read yet (RFC 9112, 9.6). Then, or after
 * a bounded time, the socket is destroyed. Whoever read from it hears no more of it than its close.
 */
export function endConnection(socket: Socket, lastWords = ""): void {
  if (socket.destroyed || socket.writableEnded) return;
  socket.removeAllListeners("data");
  socket.removeAllListeners("end");
  let timer: NodeJS.Timeout | undefined;
  let until = 0;
  socket.on("data", () => {
    if (performance.now() < until) timer?.refresh();
  });
  socket.on("end", () => socket.destroy());
  socket.on("close", () => clearTimeout(timer));
  socket.setTimeout(PATIENCE.stallMs, () => socket.destroy());
  socket.resume();
  socket.end(lastWords, "latin1", () => {
    until = performance.now() + SENDING_MS;
    if (!socket.destroyed) timer = setTimeout(() => socket.destroy(), SILENT_MS);
  });
}
