import { freePort } from "@switchyard/testkit";
import { startNatsServer } from "../support/nats-server.ts";
import type { NatsServer } from "../support/nats-server.ts";

/** A NATS server with its monitor, which may lose everything it stored. */
export class Nats implements AsyncDisposable {
  readonly #monitor: number;
  #server: NatsServer;

  constructor(server: NatsServer, monitor: number) {
    this.#server = server;
    this.#monitor = monitor;
  }

  get url(): string {
    return this.#server.url;
  }

  get port(): number {
    return this.#server.port;
  }

  kill(): Promise<void> {
    return this.#server.kill();
  }

  /** With the same storage. `extra` is configuration text. */
  restart(extra = ""): Promise<void> {
    return this.#server.restart({ config: configText(this.#monitor, extra) });
  }

  /** On the same port, with nothing in store. */
  async restartEmpty(): Promise<void> {
    const { port } = this.#server;
    await this.#server.stop();
    this.#server = await startNatsServer({ port, config: configText(this.#monitor, "") });
  }

  /** Names of the clients that are connected, as the monitor tells them. */
  async connections(): Promise<readonly string[]> {
    const response = await fetch(`http://127.0.0.1:${this.#monitor}/connz`);
    const { connections } = (await response.json()) as { connections: { name?: string }[] };
    return connections.map(({ name }) => name ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}

export async function startNats(extra = ""): Promise<Nats> {
  const monitor = await freePort();
  return new Nats(await startNatsServer({ config: configText(monitor, extra) }), monitor);
}

function configText(monitor: number, extra: string): string {
  return `http: "127.0.0.1:${monitor}"\n${extra}\n`;
}
