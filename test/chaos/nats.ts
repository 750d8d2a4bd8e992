import { freePort } from "@switchyard/testkit";
import { startNatsServer } from "../support/nats-server.ts";
import type { NatsServer } from "../support/nats-server.ts";

/** A NATS server with its monitor, which may lose everything it stored. */
export class Nats implements AsyncDisposable {
  readonly #monitor: number;
  readonly #extra: string;
  #server: NatsServer;

  constructor(server: NatsServer, monitor: number, extra: string) {
    this.#server = server;
    this.#monitor = monitor;
    this.#extra = extra;
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

  /** With the same storage. `extra` is configuration text instead of that at the start. */
  restart(extra = this.#extra): Promise<void> {
    return this.#server.restart({ config: configText(this.#monitor, extra) });
  }

  /** On the same port, with nothing in store. */
  async restartEmpty(): Promise<void> {
    const { port } = this.#server;
    await this.#server.stop();
    this.#server = await startNatsServer({ port, config: configText(this.#monitor, this.#extra) });
  }

  /** Names of the clients that are connected, as the monitor tells them. */
  async connections(): Promise<readonly string[]> {
    const { connections } = (await this.#monitored("connz")) as { connections: { name?: string }[] };
    return connections.map(({ name }) => name ?? "");
  }

  /** Names of the JetStream streams; a key-value bucket is one that starts `KV_`. */
  async streams(): Promise<readonly string[]> {
    const { account_details: accounts = [] } = (await this.#monitored("jsz?streams=1")) as {
      account_details?: { stream_detail?: { name: string }[] }[];
    };
    return accounts.flatMap(({ stream_detail: details = [] }) => details.map(({ name }) => name));
  }

  async #monitored(path: string): Promise<unknown> {
    return (await fetch(`http://127.0.0.1:${this.#monitor}/${path}`)).json();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#server.stop();
  }
}

export async function startNats(extra = ""): Promise<Nats> {
  const monitor = await freePort();
  return new Nats(await startNatsServer({ config: configText(monitor, extra) }), monitor, extra);
}

function configText(monitor: number, extra: string): string {
  return `http: "127.0.0.1:${monitor}"\n${extra}\n`;
}
