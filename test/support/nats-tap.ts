import { once } from "node:events";
import { connect } from "node:net";
import type { Socket } from "node:net";

/** Hears every message on every subject of a NATS server: the raw bytes of the protocol, which are not compressed. */
export class NatsTap implements Disposable {
  /** Everything heard so far. */
  text = "";
  readonly #socket: Socket;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setEncoding("latin1").on("data", (piece: string) => {
      this.text += piece;
      if (piece.includes("PING\r\n")) socket.write("PONG\r\n");
    });
  }

  /** Resolves when the server has taken the subscription. */
  static async listen(url: string): Promise<NatsTap> {
    const { hostname, port } = new URL(url);
    const socket = connect(Number(port), hostname);
    await once(socket, "connect");
    const tap = new NatsTap(socket);
    socket.write('CONNECT {"verbose":false,"headers":true}\r\nSUB > 1\r\nPING\r\n');
    while (!tap.text.includes("PONG\r\n")) await once(socket, "data");
    return tap;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}
