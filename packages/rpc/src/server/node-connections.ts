import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { endConnection, FAREWELL, type Patience } from "@switchyard/http1";

/**
 * The connections that node's own HTTP/1.1 server reads: which of them carry a request, so that a drain ends the others
 * as the lean ones, and how long they wait.
 */
export class NodeConnections {
  readonly #running = new Map<Socket, number>();
  #draining = false;

  constructor(server: Server, { stallMs, headMs, requestMs, idleMs }: Patience) {
    server.timeout = stallMs;
    server.headersTimeout = headMs;
    server.requestTimeout = requestMs;
    server.keepAliveTimeout = idleMs;
    server.on("timeout", (socket: Socket) => {
      // Else it is us that it waits for.
      if (socket.writableLength > 0) socket.destroy();
    });
    // Node's `close` would cut what lies idle, with whatever is on its way there.
    server.closeIdleConnections = () => {};
  }

  add(socket: Socket): void {
    this.#running.set(socket, 0);
    socket.once("close", () => this.#running.delete(socket));
  }

  enter(request: IncomingMessage, response: ServerResponse): void {
    const { socket } = request;
    if (this.#draining) response.setHeader("connection", "close");
    this.#count(socket, 1);
    request.on("timeout", () => socket.destroy());
    response.once("close", () => {
      this.#count(socket, -1);
      if (this.#draining) this.#endIfIdle(socket);
    });
  }

  /** Ends what is idle now, all others after their answers. */
  drain(): void {
    this.#draining = true;
    for (const socket of this.#running.keys()) this.#endIfIdle(socket);
  }

  #endIfIdle(socket: Socket): void {
    if (this.#running.get(socket) === 0) endConnection(socket, FAREWELL);
  }

  #count(socket: Socket, change: number): void {
    const before = this.#running.get(socket);
    if (before !== undefined) this.#running.set(socket, before + change);
  }
}
