import { connect } from "node:net";
import { once } from "node:events";
import { describe, expect, inject, it } from "vitest";
import { startNatsServer } from "./nats-server.ts";

/** The greeting that a NATS server sends to whoever connects. */
async function greeting(port: number): Promise<{ jetstream?: boolean; max_payload?: number }> {
  const socket = connect({ port, host: "127.0.0.1" });
  try {
    const [text] = (await once(socket, "data")) as [Buffer];
    return JSON.parse(text.toString().replace(/^INFO /, "")) as { jetstream?: boolean; max_payload?: number };
  } finally {
    socket.destroy();
  }
}

describe("startNatsServer", () => {
  it("gives the shared server with JetStream", async () => {
    expect(await greeting(Number(new URL(inject("natsUrl")).port))).toMatchObject({ jetstream: true });
  });

  it("comes back on the same port after a crash, and takes a config", async () => {
    const server = await startNatsServer();
    try {
      const firstPid = server.pid;
      await server.kill();
      await expect(greeting(server.port)).rejects.toThrow("ECONNREFUSED");
      await server.restart({ config: "max_payload: 2048" });
      expect(await greeting(server.port)).toMatchObject({ jetstream: true, max_payload: 2048 });
      expect(server.pid).not.toBe(firstPid);
    } finally {
      await server.stop();
    }
    await server.stop();
    await expect(greeting(server.port)).rejects.toThrow("ECONNREFUSED");
  });

  it("says in one line why it cannot start", async () => {
    await using taken = await disposable();
    await expect(startNatsServer({ port: taken.port })).rejects.toThrow(
      /nats-server did not start: .*address already in use/,
    );
  });
});

async function disposable(): Promise<{ port: number; [Symbol.asyncDispose](): Promise<void> }> {
  const server = await startNatsServer();
  return { port: server.port, [Symbol.asyncDispose]: () => server.stop() };
}
