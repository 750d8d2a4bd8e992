import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";

/** A TCP proxy on loopback that can stop forwarding while it keeps every connection open. */
export interface BlackHoleProxy {
  readonly port: number;
  /** While on, bytes of both directions stay unread and new connections get no answer. */
  swallow(on: boolean): void;
  close(): Promise<void>;
}

export async function startBlackHoleProxy(targetPort: number): Promise<BlackHoleProxy> {
  const sockets = new Set<Socket>();
  let swallowing = false;
  const server = createServer((near) => {
    const far = connect(targetPort, "127.0.0.1");
    for (const [from, to] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(from);
      if (swallowing) from.pause();
      from.on("data", (bytes) => {
        if (!to.write(bytes)) from.pause();
      });
      to.on("drain", () => {
        if (!swallowing) from.resume();
      });
      from.on("error", () => {});
      from.on("close", () => {
        sockets.delete(from);
        to.destroy();
      });
      if (swallowing) from.pause();
    }
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    port: (server.address() as AddressInfo).port,
    swallow: (on) => {
      swallowing = on;
      for (const socket of sockets) {
        if (on) socket.pause();
        else socket.resume();
      }
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
